/** Colours code with classes alone, because the content security policy forbids inline styles. */
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import { createElement, memo, type ReactNode } from "react";
import "./highlight.css";

const lowlight = createLowlight({
  bash,
  c,
  cpp,
  css,
  go,
  ini,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
});
lowlight.registerAlias({
  bash: ["shell", "console"],
  ini: ["toml"],
  typescript: ["tsx"],
  javascript: ["jsx"],
});

type Node = ReturnType<typeof lowlight.highlight>["children"][number];

function render(node: Node, index: number): ReactNode {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return null;
  const names = node.properties.className;
  const className = Array.isArray(names) ? names.join(" ") : undefined;
  return createElement("span", { key: index, className }, node.children.map(render));
}

export default memo(function Highlighted({ text, language }: { text: string; language: string }) {
  if (!lowlight.registered(language)) return <code>{text}</code>;
  return <code>{lowlight.highlight(language, text).children.map(render)}</code>;
});
