import { useState } from "react";
import { post, request } from "../../api/client";
import type { Agent, CheckResponse } from "../../api/types";
import { Button } from "../../kit/Button";
import { errorText } from "../../kit/ErrorState";
import { Field } from "../../kit/layout";
import { TextWithCode } from "../../kit/TextWithCode";
import { toast } from "../../kit/Toast";
import { visible } from "../../kit/visible";
import { useRefusal } from "../refusal";
import { ConfirmDialog, FormDialog, List, refetch } from "./parts";
import css from "./settings.module.css";

/** Splits a command line into words as a shell does for plain words and quotes. */
export function wordsOf(line: string): string[] {
  const words = line.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? [];
  return words.map((word) => (/^(".*"|'.*')$/.test(word) ? word.slice(1, -1) : word));
}

export function Agents() {
  const refusal = useRefusal()("agents:write");
  const [adding, setAdding] = useState(false);
  return (
    <>
      <div className={css.actions}>
        <Button refusal={refusal} onClick={() => setAdding(true)}>
          Add an agent
        </Button>
      </div>
      <List<Agent>
        path="/agents"
        empty="No agent yet. An agent is a program that speaks the Agent Client Protocol."
        command="matins agent add claude"
        keyOf={(agent) => agent.id}
        render={(agent) => <AgentRow agent={agent} refusal={refusal} />}
      />
      {adding && <AddAgent onClose={() => setAdding(false)} />}
    </>
  );
}

function AgentRow({ agent, refusal }: { agent: Agent; refusal: string | null }) {
  const [busy, setBusy] = useState(false);
  const [removing, setRemoving] = useState(false);
  const check = async () => {
    setBusy(true);
    try {
      const found = await post<CheckResponse>(`/agents/${encodeURIComponent(agent.name)}/check`, {
        body: null,
      });
      refetch("agents");
      const { offers } = found;
      toast(`${agent.name} started${offers?.version ? `, version ${offers.version}` : ""}`);
    } catch (error) {
      toast(`${agent.name}: ${errorText(error)}`);
    } finally {
      setBusy(false);
    }
  };
  const installed = agent.program !== null;
  const state = !installed
    ? (agent.install ?? "its program is not installed")
    : agent.signed_in_by
      ? `signed in by ${agent.signed_in_by}`
      : (agent.sign_in ?? "");
  return (
    <div className={css.row}>
      <div>
        <strong>{visible(agent.name)}</strong>
        <code className="truncate">{visible(agent.config.command.join(" "))}</code>
        <small>
          {agent.offers?.name && visible(`${agent.offers.name} ${agent.offers.version ?? ""}. `)}
          <TextWithCode text={visible(state)} />
        </small>
      </div>
      <Button size="small" busy={busy} refusal={refusal} onClick={check}>
        Check
      </Button>
      <Button
        size="small"
        refusal={refusal}
        onClick={() => setRemoving(true)}
        aria-label={`Remove ${visible(agent.name)}`}
      >
        Remove
      </Button>
      {removing && (
        <ConfirmDialog
          title={`Remove the agent ${agent.name}?`}
          note="Its settings and its rules go. Conversations that have ended stay."
          action="Remove"
          confirm={async () => {
            await request("DELETE", `/agents/${encodeURIComponent(agent.name)}`);
            refetch("agents");
            toast(`${agent.name} is removed`);
          }}
          onClose={() => setRemoving(false)}
        />
      )}
    </div>
  );
}

function AddAgent({ onClose }: { onClose(): void }) {
  const [name, setName] = useState("");
  const [command, setCommand] = useState("");
  return (
    <FormDialog
      title="Add an agent"
      note="A command on the server that speaks the Agent Client Protocol on its standard input and output."
      action="Add"
      submit={async () => {
        await request("PUT", `/agents/${encodeURIComponent(name.trim())}`, {
          body: { command: wordsOf(command) },
        });
        refetch("agents");
        toast(`${name} is added. Check starts it.`);
      }}
      onClose={onClose}
    >
      <Field label="Name" value={name} required onChange={(event) => setName(event.target.value)} />
      <Field
        label="Command"
        value={command}
        required
        placeholder="my-agent --acp"
        note="A program and its words, without a shell."
        onChange={(event) => setCommand(event.target.value)}
      />
    </FormDialog>
  );
}
