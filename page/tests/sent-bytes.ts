import { get } from "node:http";
import { gzipSync } from "node:zlib";

/**
 * Returns the bytes of a file as the server sends it to a browser that accepts gzip: Chromium itself only tells those
 * after decoding. The server in front of a built page compresses nothing, so that its files are compressed here.
 */
export function sentBytes(url: string): Promise<number> {
  return new Promise((done, fail) => {
    get(url, { headers: { "Accept-Encoding": "gzip" } }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () => {
        const body = Buffer.concat(pieces);
        done(response.headers["content-encoding"] === "gzip" ? body.length : gzipSync(body).length);
      });
      response.on("error", fail);
    }).on("error", fail);
  });
}
