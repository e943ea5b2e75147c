/** Saves files: contents that the server sends, and texts that the page has. */

/** Returns a name for a file that every system accepts. */
export const fileName = (title: string, extension: string): string =>
  `${title.replace(/[^\p{L}\p{N} ._-]+/gu, "-")}.${extension}`;

/** Lets the browser save the content of an address. Without a name, the server names the file. */
export function saveFrom(address: string, name = ""): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** The browser has begun to read a text by then, also a slow one. */
const KEEP_MS = 60_000;

/** Lets the browser save a text. */
export function saveText(text: string, name: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  saveFrom(address, name);
  setTimeout(() => URL.revokeObjectURL(address), KEEP_MS);
}
