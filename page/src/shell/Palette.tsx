import { Command } from "cmdk";
import { CornerDownLeft, MessageSquare, Pause, Play, Plus, Repeat } from "lucide-react";
import { Dialog } from "radix-ui";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";
import { useAutomations, usePermission, useSessions } from "../api/queries";
import kit from "../kit/kit.module.css";
import { fireAutomation, pauseAutomation, resumeAutomation } from "../views/automation-actions";
import { titleOf } from "../views/conversations/names";
import { views } from "../views/registry";
import css from "./shell.module.css";

const ID = /^(ses|aut|run|apr|que)_[0-9a-f]{6,}$/;

/** Returns the address of an ID's object, if a view shows it. */
export function addressOfId(text: string): string | null {
  const id = text.trim().toLowerCase();
  const kind = ID.exec(id)?.[1];
  const roots: Record<string, string> = {
    ses: "/conversations",
    aut: "/automations",
    run: "/runs",
    apr: "/approvals",
    que: "/approvals",
  };
  const root = kind === undefined ? undefined : roots[kind];
  return root !== undefined && views.some((view) => view.pattern.startsWith(root)) ? `${root}/${id}` : null;
}

/** Rows of each kind before a text chooses among all. More would make the palette open late on a slow machine. */
const FIRST_ROWS = 5;
const ROWS = 50;

/** The palette: goes to views and objects, and acts on automations. */
export function Palette({ onClose }: { onClose(): void }) {
  const [text, setText] = useState("");
  const [, navigate] = useLocation();
  const sessions = useSessions();
  const automations = useAutomations();
  const may = usePermission();
  const go = (href: string) => {
    onClose();
    navigate(href);
  };
  const run = (action: () => void) => {
    onClose();
    action();
  };
  const pasted = addressOfId(text);
  const hasAutomationView = views.some((view) => view.pattern.startsWith("/automations"));
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={kit.overlay} />
        <Dialog.Content className={css.palette} aria-describedby={undefined}>
          <Dialog.Title className="visually-hidden">Find or do</Dialog.Title>
          <Command label="Find or do" loop>
            <div className={css.paletteHead}>
              <Command.Input value={text} onValueChange={setText} placeholder="Find or do, or paste an ID" />
              <kbd>Esc</kbd>
            </div>
            <Command.List className={css.paletteList}>
              <Command.Empty className={css.paletteEmpty}>Nothing is called like this.</Command.Empty>
              {pasted && (
                <Command.Group heading="Go to">
                  <Row
                    value={text}
                    icon={<CornerDownLeft size={16} />}
                    onSelect={() => go(pasted)}
                    label={text.trim()}
                  />
                </Command.Group>
              )}
              <Command.Group heading="Do">
                {may("sessions:write") && (
                  <Row
                    value="new conversation"
                    icon={<Plus size={16} />}
                    label="New conversation"
                    onSelect={() => go("/conversations?new=1")}
                  />
                )}
                {may("automations:write") && hasAutomationView && (
                  <Row
                    value="new automation"
                    icon={<Plus size={16} />}
                    label="New automation"
                    onSelect={() => go("/automations/new")}
                  />
                )}
                {may("automations:write") &&
                  text !== "" &&
                  automations.data?.items.flatMap((automation) => [
                    <Row
                      key={`run ${automation.id}`}
                      value={`run ${automation.name} now`}
                      icon={<Play size={16} />}
                      label={`Run ${automation.name} now`}
                      note="the next runs stay"
                      onSelect={() => run(() => fireAutomation(automation))}
                    />,
                    automation.state === "paused" ? (
                      <Row
                        key={`resume ${automation.id}`}
                        value={`resume ${automation.name}`}
                        icon={<Play size={16} />}
                        label={`Resume ${automation.name}`}
                        onSelect={() => run(() => resumeAutomation(automation))}
                      />
                    ) : (
                      <Row
                        key={`pause ${automation.id}`}
                        value={`pause ${automation.name}`}
                        icon={<Pause size={16} />}
                        label={`Pause ${automation.name}`}
                        note="can be undone"
                        onSelect={() => run(() => pauseAutomation(automation))}
                      />
                    ),
                  ])}
              </Command.Group>
              <Command.Group heading="Go to">
                {views
                  .filter((view) => view.icon)
                  .map((view) => {
                    const Icon = view.icon;
                    return (
                      <Row
                        key={view.href}
                        value={`view ${view.label}`}
                        icon={Icon && <Icon size={16} aria-hidden />}
                        label={view.label}
                        onSelect={() => go(view.href)}
                      />
                    );
                  })}
                {sessions.data?.items.slice(0, text === "" ? FIRST_ROWS : ROWS).map((session) => (
                  <Row
                    key={session.id}
                    value={`${titleOf(session)} ${session.id}`}
                    icon={<MessageSquare size={16} />}
                    label={titleOf(session)}
                    note="conversation"
                    onSelect={() => go(`/conversations/${session.id}`)}
                  />
                ))}
                {hasAutomationView &&
                  automations.data?.items
                    .slice(0, text === "" ? FIRST_ROWS : undefined)
                    .map((automation) => (
                      <Row
                        key={automation.id}
                        value={`${automation.name} automation`}
                        icon={<Repeat size={16} />}
                        label={automation.name}
                        note="automation"
                        onSelect={() => go(`/automations/${encodeURIComponent(automation.name)}`)}
                      />
                    ))}
              </Command.Group>
            </Command.List>
            <div className={css.paletteFoot}>
              <span>
                <kbd>↑</kbd> <kbd>↓</kbd> choose
              </span>
              <span>
                <kbd>Enter</kbd> open
              </span>
            </div>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Row(props: { value: string; icon: ReactNode; label: string; note?: string; onSelect(): void }) {
  return (
    <Command.Item value={props.value} onSelect={props.onSelect} className={css.paletteRow}>
      {props.icon}
      <span className="truncate">{props.label}</span>
      {props.note && <small>{props.note}</small>}
    </Command.Item>
  );
}
