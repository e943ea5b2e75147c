/** Reads the text of a running turn piece by piece. */

/** A piece of the text. `end` is the position after it, in bytes, as the server counts. */
export interface TextPiece {
  text: string;
  end: number;
}

/**
 * Calls `onText` with the whole text each time that it has grown, until the returned function is called. A piece is read
 * only after the one before it has arrived: two reads from the same position would bring the same text twice.
 */
export function followText(
  read: (from: number, signal: AbortSignal) => Promise<TextPiece>,
  onText: (text: string) => void,
  intervalMs: number,
): () => void {
  const stop = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let whole: TextPiece = { text: "", end: 0 };
  const next = async () => {
    try {
      const { text, end } = await read(whole.end, stop.signal);
      if (text !== "" && !stop.signal.aborted) {
        whole = { text: whole.text + text, end };
        onText(whole.text);
      }
    } catch {
      // The next read tries again.
    }
    if (!stop.signal.aborted) timer = setTimeout(next, intervalMs);
  };
  void next();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}
