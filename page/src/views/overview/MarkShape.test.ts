import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Legend, MarkShape } from "./MarkShape";
import { GLYPH, LEAST_BAR, type MarkLook } from "./marks";

const render = (counts: [MarkLook, number][], hasSince = false) =>
  renderToStaticMarkup(createElement(Legend, { className: "", counts: new Map(counts), hasSince }));

test("the legend draws each look as the chart does", () => {
  for (const look of ["succeeded", "failed", "missed", "stalled", "waits", "queued", "due"] as const) {
    const width = look === "succeeded" ? LEAST_BAR : GLYPH;
    const shape = createElement(MarkShape, { mark: { look, x: 6 - width / 2, width }, y: 6 });
    expect(render([[look, 1]]), look).toContain(renderToStaticMarkup(shape));
  }
});

test("the legend has the looks of the chart alone, with their numbers", () => {
  const text = render([
    ["due", 30],
    ["missed", 8],
  ]).replace(/<[^>]*>/g, " ");
  expect(text.trim().split(/\s+/).join(" ")).toBe("8 did not run due");
  expect(render([], true)).toContain("you looked");
});
