/**
 * Makes characters visible that show nothing, or that reorder the text around them. Agents, tools and people write such
 * characters into names, so that `evil \u{202e}gpj.exe` looks like a picture. The commands escape the same characters in
 * the same form; letters of every script stay. Only the shown text changes, never the stored one.
 */

/** The same characters as `model::escape::is_escaped`: controls, separators, directions, and those without a shape. */
const HIDDEN =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: a selector of variations is found by itself.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are among those to find.
  /[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const escaped = (letter: string): string =>
  SHORT[letter] ?? `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`;

/** Escapes a text of one line, such as a name, a title, a key or the text of a button. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escaped);
}

/** Escapes a text of several lines, such as a question or a command: newlines and tabs stay. */
export function visibleLines(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(HIDDEN, (letter) => (letter === "\n" || letter === "\t" ? letter : escaped(letter)));
}
