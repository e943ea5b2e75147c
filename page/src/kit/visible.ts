/**
 * Makes characters visible that show nothing, or that reorder the text around them. Agents, tools and people write such
 * characters into names, so that `evil \u{202e}gpj.exe` looks like a picture. The commands escape the same characters in
 * the same form. In names they escape also the joiners of Persian and Hindi; in texts of several lines such joiners stay
 * where they shape what is read. Only the shown text changes, never the stored one.
 */

/** The same characters as `model::escape::is_escaped`: controls, separators, directions, and those without a shape. */
const HIDDEN =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: a selector of variations is found by itself.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are among those to find.
  /[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Letters and marks of the scripts that join letters; between letters of other scripts a joiner shows nothing. */
const JOINED =
  "(?=[\\p{L}\\p{M}])[" +
  ["Arab", "Syrc", "Nkoo", "Adlm", "Mong", "Deva", "Beng", "Guru", "Gujr", "Orya", "Taml", "Telu", "Knda"]
    .concat(["Mlym", "Sinh", "Mymr", "Khmr", "Tibt"])
    .map((script) => `\\p{scx=${script}}`)
    .join("") +
  "]";

/** Hidden characters that shape their neighbours, one at a time, so that no text can hide in them. */
const SHAPING = [
  `(?<=${JOINED})[\\u200c\\u200d](?=${JOINED})`,
  // Joined emoji, such as a family.
  "(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})",
  // Variants of pictures, of ideographs, and of Mongolian letters.
  "(?<=\\p{Extended_Pictographic})[\\ufe00-\\ufe0f]",
  "(?<=\\p{Ideographic})[\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]",
  "(?<=(?=\\p{L})\\p{scx=Mong})[\\u180b-\\u180d\\u180f]",
  // The flag of a region, such as Scotland: a black flag, the letters of the region, and an end.
  "(?<=\\u{1f3f4})[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{3,6}\\u{e007f}",
];

const SHAPING_OR_HIDDEN = new RegExp(`(${SHAPING.join("|")})|${HIDDEN.source}`, "gu");

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const escaped = (letter: string): string =>
  SHORT[letter] ?? `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`;

/** Escapes a text of one line, such as a name, a title, a key or the text of a button. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escaped);
}

/** Escapes a text of several lines, such as a question or a command: newlines, tabs and the joiners of letters stay. */
export function visibleLines(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(SHAPING_OR_HIDDEN, (found, shaping?: string) =>
      shaping !== undefined || found === "\n" || found === "\t" ? found : escaped(found),
    );
}
