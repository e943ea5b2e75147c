import type { ChildProcess } from "node:child_process";

/** Returns when the process has written the text. */
export function written(child: ChildProcess, text: string): Promise<void> {
  return new Promise((done, fail) => {
    let output = "";
    const read = (piece: Buffer) => {
      output += piece.toString();
      if (output.includes(text)) done();
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("exit", (code) =>
      fail(new Error(`${child.spawnfile} ended with ${code} before it wrote “${text}”: ${output}`)),
    );
  });
}
