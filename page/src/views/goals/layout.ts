/**
 * Places the tasks of a goal in layers: each task right of all tasks that it waits for.
 *
 * An edge that passes over layers keeps a lane free in each of them, so that it crosses no task. All such edges of one
 * task share its lanes.
 */
import type { Task } from "../../api/types";

export type Placed = Pick<Task, "key" | "kind" | "depends_on">;

export const NODE_WIDTH = 180;
export const NODE_HEIGHT = 44;
const COLUMN_GAP = 44;
const ROW_GAP = 12;
const LANE_HEIGHT = 4;
const PADDING = 16;
const SWEEPS = 6;

export interface GraphNode<T> {
  task: T;
  layer: number;
  /** The place in its layer, from the top. */
  row: number;
  x: number;
  y: number;
}

export interface GraphEdge {
  from: string;
  to: string;
  /** The path of an SVG. */
  path: string;
  /** `true` if Matins itself waits for the task, as with the check and the report. */
  implied: boolean;
}

export interface Graph<T> {
  /** Sorted by layer, then by place. */
  nodes: GraphNode<T>[];
  edges: GraphEdge[];
  width: number;
  height: number;
}

interface Link {
  from: string;
  to: string;
  implied: boolean;
}

/** A task, or a lane of the edges that leave it. */
interface Slot {
  key: string;
  layer: number;
  isLane: boolean;
  before: Slot[];
  after: Slot[];
  /** The centre. */
  y: number;
}

export function layoutOf<T extends Placed>(all: readonly T[]): Graph<T> {
  // The phases above the graph show the plans.
  const tasks = all.filter((task) => task.kind !== "plan");
  const links = linksOf(tasks);
  const layers = layersOf(tasks, links);
  const { slots, columns } = slotsOf(tasks, links, layers);
  order(columns);
  align(columns);
  const top = Math.min(...[...slots.values()].map((slot) => slot.y - NODE_HEIGHT / 2));
  const x = (layer: number) => PADDING + layer * (NODE_WIDTH + COLUMN_GAP);
  const y = (slot: Slot) => slot.y - top + PADDING;
  const byKey = new Map(tasks.map((task) => [task.key, task]));
  const nodes = columns.flatMap((column, layer) =>
    column
      .filter((slot) => !slot.isLane)
      .flatMap((slot, row) => {
        const task = byKey.get(slot.key);
        return task === undefined
          ? []
          : [{ task, layer, row, x: x(layer), y: Math.round(y(slot) - NODE_HEIGHT / 2) }];
      }),
  );
  const edges = links.map((link) => ({ ...link, path: pathOf(link, slots, layers, x, y) }));
  const bottom = Math.max(0, ...nodes.map((node) => node.y + NODE_HEIGHT));
  return {
    nodes,
    edges,
    width: columns.length === 0 ? 0 : x(columns.length - 1) + NODE_WIDTH + PADDING,
    height: nodes.length === 0 ? 0 : bottom + PADDING,
  };
}

/** The check waits for all work, and the report for the check, without saying so. */
function linksOf(tasks: readonly Placed[]): Link[] {
  const keys = new Set(tasks.map((task) => task.key));
  const links: Link[] = [];
  for (const task of tasks) {
    for (const from of new Set(task.depends_on)) {
      if (keys.has(from) && from !== task.key) links.push({ from, to: task.key, implied: false });
    }
  }
  const open = (kinds: Task["kind"][]) => {
    const followed = new Set(links.map((link) => link.from));
    return tasks.filter((task) => kinds.includes(task.kind) && !followed.has(task.key));
  };
  const chain: [Task["kind"], Task["kind"][]][] = [
    ["check", ["work"]],
    ["report", ["work", "check"]],
  ];
  for (const [kind, before] of chain) {
    const ends = tasks.filter((task) => task.kind === kind && task.depends_on.length === 0);
    const sources = open(before);
    for (const { key: to } of ends) {
      for (const { key: from } of sources) links.push({ from, to, implied: true });
    }
  }
  return links;
}

/** Returns the layer of each task: one more than the highest of those that it waits for. */
function layersOf(tasks: readonly Placed[], links: readonly Link[]): Map<string, number> {
  const layers = new Map(tasks.map((task) => [task.key, 0]));
  const unmet = new Map(tasks.map((task) => [task.key, 0]));
  const successors = new Map<string, string[]>();
  for (const { from, to } of links) {
    unmet.set(to, (unmet.get(to) ?? 0) + 1);
    successors.set(from, [...(successors.get(from) ?? []), to]);
  }
  const ready = tasks.filter((task) => unmet.get(task.key) === 0).map((task) => task.key);
  // The server accepts no cycle. Tasks in one would stay in the first layer.
  for (let key = ready.pop(); key !== undefined; key = ready.pop()) {
    for (const next of successors.get(key) ?? []) {
      layers.set(next, Math.max(layers.get(next) ?? 0, (layers.get(key) ?? 0) + 1));
      const left = (unmet.get(next) ?? 0) - 1;
      unmet.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  return layers;
}

const laneKey = (from: string, layer: number): string => `${layer} ${from}`;

function slotsOf(tasks: readonly Placed[], links: readonly Link[], layers: ReadonlyMap<string, number>) {
  const slots = new Map<string, Slot>();
  const columns: Slot[][] = [];
  const add = (id: string, key: string, layer: number, isLane: boolean): Slot => {
    const slot: Slot = { key, layer, isLane, before: [], after: [], y: 0 };
    slots.set(id, slot);
    while (columns.length <= layer) columns.push([]);
    columns[layer]?.push(slot);
    return slot;
  };
  for (const { key } of tasks) add(key, key, layers.get(key) ?? 0, false);
  for (const { from, to } of links) {
    const end = slots.get(to);
    let last = slots.get(from);
    if (end === undefined || last === undefined || end.layer <= last.layer) continue;
    for (let layer = last.layer + 1; layer < end.layer; layer += 1) {
      const lane = slots.get(laneKey(from, layer));
      if (lane !== undefined) {
        last = lane;
        continue;
      }
      const added = add(laneKey(from, layer), from, layer, true);
      connect(last, added);
      last = added;
    }
    connect(last, end);
  }
  return { slots, columns };
}

function connect(before: Slot, after: Slot): void {
  before.after.push(after);
  after.before.push(before);
}

/** Sorts each layer by the mean place of the neighbours, so that few edges cross. */
function order(columns: Slot[][]): void {
  for (const column of columns) setPlaces(column);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forward = sweep % 2 === 0;
    for (const column of forward ? columns : [...columns].reverse()) {
      const wanted = new Map(
        column.map((slot) => [slot, mean(forward ? slot.before : slot.after) ?? slot.y] as const),
      );
      column.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
      setPlaces(column);
    }
  }
}

function setPlaces(column: Slot[]): void {
  for (const [index, slot] of column.entries()) slot.y = (index + 0.5) / column.length;
}

/** Moves each slot as near to its neighbours as the others of its layer permit. */
function align(columns: Slot[][]): void {
  for (const column of columns) {
    const offsets = offsetsOf(column);
    const middle = (offsets.at(-1) ?? 0) / 2;
    column.forEach((slot, index) => {
      slot.y = (offsets[index] ?? 0) - middle;
    });
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forward = sweep % 2 === 0;
    for (const column of forward ? columns : [...columns].reverse()) {
      const wanted = column.map((slot) => mean(forward ? slot.before : slot.after) ?? slot.y);
      const offsets = offsetsOf(column);
      const moved = nonDecreasing(wanted.map((y, index) => y - (offsets[index] ?? 0)));
      column.forEach((slot, index) => {
        slot.y = (moved[index] ?? 0) + (offsets[index] ?? 0);
      });
    }
  }
}

/** The least distance of each centre from that of the first slot. */
function offsetsOf(column: readonly Slot[]): number[] {
  const height = (slot: Slot) => (slot.isLane ? LANE_HEIGHT : NODE_HEIGHT);
  const offsets: number[] = [];
  for (const [index, slot] of column.entries()) {
    const before = column[index - 1];
    const distance = before === undefined ? 0 : (height(before) + height(slot)) / 2 + ROW_GAP;
    offsets.push((offsets.at(-1) ?? 0) + distance);
  }
  return offsets;
}

function mean(slots: readonly Slot[]): number | null {
  return slots.length === 0 ? null : slots.reduce((sum, slot) => sum + slot.y, 0) / slots.length;
}

/** Returns the non-decreasing numbers with the least squares of the differences: neighbours that fall are pooled. */
export function nonDecreasing(values: readonly number[]): number[] {
  const pools: { sum: number; count: number }[] = [];
  for (const value of values) {
    let pool = { sum: value, count: 1 };
    for (let last = pools.at(-1); last !== undefined; last = pools.at(-1)) {
      if (last.sum / last.count <= pool.sum / pool.count) break;
      pool = { sum: pool.sum + last.sum, count: pool.count + last.count };
      pools.pop();
    }
    pools.push(pool);
  }
  return pools.flatMap(({ sum, count }) => Array.from({ length: count }, () => sum / count));
}

/** Draws an edge from the right side of a task through its lanes to the left side of another one. */
function pathOf(
  { from, to }: Link,
  slots: ReadonlyMap<string, Slot>,
  layers: ReadonlyMap<string, number>,
  x: (layer: number) => number,
  y: (slot: Slot) => number,
): string {
  const [start, end] = [slots.get(from), slots.get(to)];
  if (start === undefined || end === undefined) return "";
  const first = layers.get(from) ?? 0;
  const last = layers.get(to) ?? 0;
  const n = (value: number) => Math.round(value * 10) / 10;
  let path = `M${x(first) + NODE_WIDTH} ${n(y(start))}`;
  let height = y(start);
  for (let layer = first + 1; layer <= last; layer += 1) {
    const slot = layer === last ? end : slots.get(laneKey(from, layer));
    const next = slot === undefined ? height : y(slot);
    const left = x(layer);
    const bend = COLUMN_GAP / 2;
    path += `C${left - bend} ${n(height)} ${left - bend} ${n(next)} ${left} ${n(next)}`;
    if (layer < last) path += `H${left + NODE_WIDTH}`;
    height = next;
  }
  return path;
}

export type Direction = "left" | "right" | "up" | "down";

/** Returns the key of the task that an arrow key reaches from another one; null if there is none. */
export function neighbour<T extends Placed>(
  graph: Graph<T>,
  key: string,
  direction: Direction,
): string | null {
  const here = graph.nodes.find((node) => node.task.key === key);
  if (here === undefined) return null;
  if (direction === "up" || direction === "down") {
    const row = here.row + (direction === "up" ? -1 : 1);
    const next = graph.nodes.find((node) => node.layer === here.layer && node.row === row);
    return next?.task.key ?? null;
  }
  const linked = new Set(
    graph.edges.flatMap((edge) =>
      direction === "right" ? (edge.from === key ? [edge.to] : []) : edge.to === key ? [edge.from] : [],
    ),
  );
  const near = graph.nodes
    .filter((node) => linked.has(node.task.key))
    .sort(
      (a, b) =>
        Math.abs(a.layer - here.layer) - Math.abs(b.layer - here.layer) ||
        Math.abs(a.y - here.y) - Math.abs(b.y - here.y),
    );
  return near[0]?.task.key ?? null;
}
