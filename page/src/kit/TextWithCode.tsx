/** A text of the server whose commands stand in backticks. */
export function TextWithCode({ text }: { text: string }) {
  return text.split("`").map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text have no identity but their place.
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  );
}
