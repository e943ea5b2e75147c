import { expect, test } from "vitest";
import type { TaskKind } from "../../api/types";
import {
  type Graph,
  layoutOf,
  NODE_HEIGHT,
  NODE_WIDTH,
  neighbour,
  nonDecreasing,
  type Placed,
} from "./layout";

const task = (key: string, depends_on: string[] = [], kind: TaskKind = "work"): Placed => ({
  key,
  kind,
  depends_on,
});

const layers = (graph: Graph<Placed>) =>
  Object.fromEntries(graph.nodes.map((node) => [node.task.key, node.layer]));

/** Numbers that look random and are the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

function expectNoOverlap(graph: Graph<Placed>): void {
  for (const [index, a] of graph.nodes.entries()) {
    expect(a.x).toBeGreaterThanOrEqual(0);
    expect(a.y).toBeGreaterThanOrEqual(0);
    expect(a.x + NODE_WIDTH).toBeLessThanOrEqual(graph.width);
    expect(a.y + NODE_HEIGHT).toBeLessThanOrEqual(graph.height);
    for (const b of graph.nodes.slice(index + 1)) {
      const apart = Math.abs(a.x - b.x) >= NODE_WIDTH || Math.abs(a.y - b.y) >= NODE_HEIGHT;
      expect(apart, `${a.task.key} and ${b.task.key}`).toBe(true);
    }
  }
}

test("no_tasks_make_an_empty_graph", () => {
  expect(layoutOf([])).toEqual({ nodes: [], edges: [], width: 0, height: 0 });
});

test("cycle_and_unknown_dependency_of_a_faulty_server_lose_no_task", () => {
  const graph = layoutOf([task("a", ["b"]), task("b", ["a"]), task("c", ["nowhere", "c"]), task("d", ["c"])]);
  expect(graph.nodes.map((node) => node.task.key).sort()).toEqual(["a", "b", "c", "d"]);
  expect(graph.edges.map(({ from, to }) => [from, to])).toContainEqual(["c", "d"]);
  expectNoOverlap(graph);
});

test("task_stands_right_of_all_that_it_waits_for", () => {
  const graph = layoutOf([task("d", ["a", "c"]), task("c", ["b"]), task("b", ["a"]), task("a")]);
  expect(layers(graph)).toEqual({ a: 0, b: 1, c: 2, d: 3 });
});

test("check_waits_for_all_work_and_report_for_the_check", () => {
  const graph = layoutOf([
    task("plan-1", [], "plan"),
    task("a"),
    task("b", ["a"]),
    task("c"),
    task("check", [], "check"),
    task("report", [], "report"),
  ]);
  expect(layers(graph)).toEqual({ a: 0, c: 0, b: 1, check: 2, report: 3 });
  const implied = graph.edges.filter((edge) => edge.implied).map(({ from, to }) => `${from} ${to}`);
  expect(implied.sort()).toEqual(["b check", "c check", "check report"]);
});

test("tasks_of_random_graphs_never_overlap_and_edges_go_right", () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const next = numbers(seed);
    const count = 2 + next(30);
    const tasks = Array.from({ length: count }, (_, index) => {
      const depends = Array.from({ length: next(4) }, () => `t${next(index + 1)}`);
      return task(`t${index}`, index === 0 ? [] : depends);
    });
    const graph = layoutOf(tasks);
    expect(graph.nodes).toHaveLength(count);
    expectNoOverlap(graph);
    const at = layers(graph);
    for (const { from, to } of graph.edges) expect(at[from]).toBeLessThan(at[to] ?? 0);
  }
});

test("hundred_tasks_are_placed_in_a_moment", () => {
  const next = numbers(7);
  const tasks = Array.from({ length: 100 }, (_, index) =>
    task(`t${index}`, index < 5 ? [] : [`t${next(index)}`, `t${next(index)}`, `t${index - 5}`]),
  );
  tasks.push(task("check", [], "check"), task("report", [], "report"));
  const started = performance.now();
  const graph = layoutOf(tasks);
  expect(performance.now() - started).toBeLessThan(1_000);
  expect(graph.nodes).toHaveLength(102);
  expectNoOverlap(graph);
});

test("edge_over_a_layer_passes_no_task", () => {
  const graph = layoutOf([task("a"), task("b", ["a"]), task("c", ["b"]), task("far", ["a", "c"])]);
  const over = graph.edges.find((edge) => edge.from === "a" && edge.to === "far");
  // The path runs level through the layers of `b` and `c`.
  const levels = [...(over?.path ?? "").matchAll(/ (-?[\d.]+)H/g)].map((found) => Number(found[1]));
  expect(levels).toHaveLength(2);
  for (const [index, level] of levels.entries()) {
    const node = graph.nodes.find((each) => each.layer === index + 1);
    const distance = Math.abs(level - ((node?.y ?? 0) + NODE_HEIGHT / 2));
    expect(distance).toBeGreaterThan(NODE_HEIGHT / 2);
  }
});

test.each([
  [[], []],
  [
    [1, 2, 3],
    [1, 2, 3],
  ],
  [
    [3, 1],
    [2, 2],
  ],
  [
    [1, 5, 3, 1, 9],
    [1, 3, 3, 3, 9],
  ],
])("non_decreasing_of_%j", (values, expected) => {
  expect(nonDecreasing(values)).toEqual(expected);
});

test("arrow_keys_follow_edges_and_layers", () => {
  const graph = layoutOf([task("a"), task("b"), task("c", ["a"]), task("d", ["c"])]);
  expect(neighbour(graph, "a", "right")).toBe("c");
  expect(neighbour(graph, "c", "left")).toBe("a");
  expect(neighbour(graph, "d", "right")).toBeNull();
  const [first, second] = graph.nodes.filter((node) => node.layer === 0).map((node) => node.task.key);
  expect(neighbour(graph, first ?? "", "down")).toBe(second);
  expect(neighbour(graph, second ?? "", "up")).toBe(first);
  expect(neighbour(graph, first ?? "", "up")).toBeNull();
  expect(neighbour(graph, "nowhere", "up")).toBeNull();
});
