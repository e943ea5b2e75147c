import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { post } from "../../api/client";
import { sendKeyed } from "../../api/keyed";
import { ApiProblem } from "../../api/problem";
import { keys, useAgents, useInstances, usePermission } from "../../api/queries";
import type { Agent, Session } from "../../api/types";
import { Button } from "../../kit/Button";
import { Callout, ErrorState, errorText } from "../../kit/ErrorState";
import { Field, Panel, SelectField, Skeleton } from "../../kit/layout";
import { visible } from "../../kit/visible";
import { useConnection } from "../../shell/connection";
import { isTyping } from "../../shell/keys";
import { sendMessage } from "../send-message";
import css from "./conversation.module.css";
import { moveTyped, sendDraft, setTyped, useDraft } from "./drafts";
import { titleFrom } from "./names";

function stateOf(agent: Agent): string {
  if (agent.program === null) return "not installed";
  return agent.signed_in_by === null ? "found" : "found, signed in";
}

/** The form may load late, when a person has opened the palette. */
function focusUnlessTyping(field: HTMLTextAreaElement | null): void {
  if (!isTyping()) field?.focus();
}

/** Begins a conversation: an agent, and the first message. */
export function NewConversation() {
  const agents = useAgents();
  const may = usePermission();
  const { online } = useConnection();
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const [search] = useSearchParams();
  const [chosen, setChosen] = useState<string | null>(search.get("agent"));
  const [cwd, setCwd] = useState("");
  const instances = useInstances(may("instances:read")).data?.items ?? [];
  const [placedOn, setPlacedOn] = useState("");
  const { typed: text, sending } = useDraft("new");
  const busy = sending !== "";
  const [error, setError] = useState<unknown>(null);
  /** Created, but its first message was refused: the next try sends the message there. */
  const created = useRef<Session | null>(null);
  const all = agents.data?.items ?? [];
  const sorted = [...all].sort((a, b) => Number(b.program !== null) - Number(a.program !== null));
  const agent = all.find((each) => each.name === chosen) ?? sorted[0];
  const refusal = !online
    ? "There is no connection. The draft is kept."
    : may("sessions:write")
      ? null
      : "Your role does not permit this: it needs sessions:write";
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    if (!agent || text.trim() === "" || busy || refusal !== null) return;
    setError(null);
    try {
      await sendDraft("new", async (first) => {
        const body = {
          agent: agent.name,
          title: titleFrom(first),
          ...(cwd.trim() === "" ? {} : { cwd: cwd.trim() }),
          ...(placedOn === "" ? {} : { placed_on: placedOn }),
        };
        await sendKeyed("new", [body, first], async (idempotencyKey) => {
          created.current ??= await post<Session>("/sessions", { body, idempotencyKey });
          const path = `/sessions/${created.current.id}/messages`;
          await sendMessage(path, { text: first }, `${idempotencyKey}-1`);
        });
      });
    } catch (problem) {
      setError(problem);
      return;
    }
    if (created.current === null) return;
    const { id } = created.current;
    // What was typed meanwhile is the next message.
    moveTyped("new", id);
    client.invalidateQueries({ queryKey: keys.sessions });
    navigate(`/conversations/${id}`);
  };
  const field = error instanceof ApiProblem ? error.problem.field : null;
  return (
    <div className={css.newPage}>
      <h1>New conversation</h1>
      {agents.error && <ErrorState error={agents.error} onRetry={() => agents.refetch()} />}
      {agents.isPending && <Skeleton />}
      {agents.data && (
        <Panel>
          <form className={css.newForm} onSubmit={submit}>
            <SelectField
              label="Agent"
              value={agent?.name ?? ""}
              onChange={(event) => setChosen(event.target.value)}
              note={agent?.program === null ? (agent.install ?? undefined) : undefined}
            >
              {sorted.map((each) => (
                <option key={each.id} value={each.name}>
                  {visible(each.name)}, {stateOf(each)}
                </option>
              ))}
            </SelectField>
            {instances.length > 1 && (
              <SelectField
                label="Instance"
                value={placedOn}
                onChange={(event) => setPlacedOn(event.target.value)}
                note="The turns wait for it while it is offline. It never changes."
              >
                <option value="">any</option>
                {instances.map((each) => (
                  <option key={each.id} value={each.name}>
                    {visible(each.name)}, {each.state}
                  </option>
                ))}
              </SelectField>
            )}
            <Field
              label="Folder"
              value={cwd}
              onChange={(event) => setCwd(event.target.value)}
              placeholder="A folder of its own"
              note={`An absolute path on the machine of the ${placedOn === "" ? "server" : "instance"}. It never changes.`}
              error={field === "cwd" ? errorText(error) : null}
              spellCheck={false}
              autoComplete="off"
            />
            <div className={css.newMessage}>
              <label htmlFor="first-message">Message</label>
              <textarea
                id="first-message"
                rows={4}
                value={text}
                ref={focusUnlessTyping}
                placeholder={agent ? `What shall ${agent.name} do?` : ""}
                onChange={(event) => setTyped("new", event.target.value)}
                onKeyDown={(event) => {
                  if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
                    event.preventDefault();
                    submit();
                  }
                }}
              />
            </div>
            {error !== null && field !== "cwd" && <Callout kind="failed">{errorText(error)}</Callout>}
            <div className={css.newFoot}>
              <code>
                matins session send --new --agent {agent?.name ?? "NAME"}
                {placedOn !== "" && ` --on ${placedOn}`} "…"
              </code>
              <Button
                kind="primary"
                size="large"
                type="submit"
                busy={busy}
                refusal={refusal}
                disabled={text.trim() === "" || !agent}
              >
                Begin
              </Button>
            </div>
          </form>
        </Panel>
      )}
    </div>
  );
}
