import { type KeyboardEvent, useEffect, useId, useMemo, useRef } from "react";
import type { Task } from "../../api/types";
import { StatusGlyph } from "../../kit/Status";
import { useNow } from "../../kit/Time";
import { visible } from "../../kit/visible";
import css from "./goals.module.css";
import { type Direction, layoutOf, NODE_HEIGHT, NODE_WIDTH, neighbour } from "./layout";
import { nodeName, nodeText } from "./task-text";
import { isHeld, stateOfTask } from "./words";

const ARROWS: Record<string, Direction> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

export interface TaskGraphProps {
  tasks: readonly Task[];
  /** The key of the chosen task. */
  chosen: string | null;
  onChoose(key: string): void;
}

/**
 * The tasks as a graph, from left to right. Tab reaches one task, the arrow keys go from task to task along the edges and
 * the layers, and Enter shows the task. The list has the same for screen readers.
 */
export function TaskGraph({ tasks, chosen, onChoose }: TaskGraphProps) {
  const graph = useMemo(() => layoutOf(tasks), [tasks]);
  const clip = useId();
  const nodes = useRef(new Map<string, SVGRectElement>());
  const reached = useRef<string | null>(null);
  const first = graph.nodes[0]?.task.key ?? null;
  const has = (key: string | null) => key !== null && graph.nodes.some((node) => node.task.key === key);
  const tabStop = has(chosen) ? chosen : first;
  useEffect(() => {
    if (chosen === null || reached.current === chosen) return;
    reached.current = chosen;
    nodes.current.get(chosen)?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [chosen]);
  const onKeyDown = (event: KeyboardEvent, key: string) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onChoose(key);
      return;
    }
    const direction = ARROWS[event.key];
    if (direction === undefined) return;
    // The keys would scroll.
    event.preventDefault();
    const next = neighbour(graph, key, direction);
    if (next !== null) nodes.current.get(next)?.focus();
  };
  return (
    <div className={css.graph}>
      <svg
        role="group"
        aria-label="Graph of the tasks"
        width={graph.width}
        height={graph.height}
        viewBox={`0 0 ${graph.width} ${graph.height}`}
      >
        <clipPath id={clip}>
          <rect x={TEXT_X} width={NODE_WIDTH - TEXT_X - 4} height={NODE_HEIGHT} />
        </clipPath>
        <g>
          {graph.edges.map((edge) => (
            <path
              key={`${edge.from} ${edge.to}`}
              d={edge.path}
              className={css.edge}
              data-implied={edge.implied}
              data-chosen={edge.from === chosen || edge.to === chosen}
            />
          ))}
        </g>
        {graph.nodes.map(({ task, x, y }) => {
          const name = nodeName(task);
          return (
            <g key={task.key} transform={`translate(${x} ${y})`}>
              <rect
                ref={(element) => {
                  if (element === null) nodes.current.delete(task.key);
                  else nodes.current.set(task.key, element);
                }}
                role="button"
                tabIndex={task.key === tabStop ? 0 : -1}
                aria-label={name}
                aria-pressed={task.key === chosen}
                className={css.node}
                data-task={task.key}
                data-status={isHeld(task) ? "READY" : task.status}
                width={NODE_WIDTH}
                height={NODE_HEIGHT}
                rx={6}
                onClick={() => onChoose(task.key)}
                onKeyDown={(event) => onKeyDown(event, task.key)}
              >
                <title>{name}</title>
              </rect>
              {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: only the button takes the focus, and its name is not cut. */}
              <g className={css.nodeText} aria-hidden="true">
                <g transform="translate(10 6)">
                  <StatusGlyph look={stateOfTask(task).look} />
                </g>
                <g clipPath={`url(#${clip})`}>
                  <text x={TEXT_X} y={18} className={css.nodeKey}>
                    {shortened(visible(task.key), KEY_CHARS)}
                  </text>
                  <text x={TEXT_X} y={35} className={css.nodeDetail}>
                    <Detail task={task} />
                  </text>
                </g>
              </g>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** The line below the key of a task. That of one that runs counts on. */
function Detail({ task }: { task: Task }) {
  const now = useNow(task.status === "RUNNING" ? 1000 : 3_600_000);
  return <>{shortened(nodeText(task, now), DETAIL_CHARS)}</>;
}

const TEXT_X = 34;

/** The characters that usually have room. Wider ones are clipped. */
const KEY_CHARS = 19;
const DETAIL_CHARS = 22;

/** SVG cuts no text. */
function shortened(text: string, chars: number): string {
  const letters = [...text];
  return letters.length <= chars ? text : `${letters.slice(0, chars - 1).join("")}…`;
}
