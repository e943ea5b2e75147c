/** The form that adds an instance with a folder, and the token and the command of its runtime. */
import { useState } from "react";
import { request } from "../../api/client";
import { keyedSender } from "../../api/keyed";
import type { Instance, InstanceRequest, RuntimeToken } from "../../api/types";
import { Button } from "../../kit/Button";
import { Copy } from "../../kit/Copy";
import { Callout } from "../../kit/ErrorState";
import { Field } from "../../kit/layout";
import { visible } from "../../kit/visible";
import { runtimeCommand, saveCommand } from "./instance-words";
import { FormDialog, refetch } from "./parts";
import css from "./settings.module.css";

/** A token that the server has made, and the reason why. */
export interface MadeToken extends RuntimeToken {
  title: string;
}

/** Returns the address at which a runtime reaches the server: the one of the page. */
const serverAddress = (): string => window.location.origin;

/** Shows a token once, with the commands that use it. */
export function RuntimeSteps({ made, onDone }: { made: MadeToken; onDone(): void }) {
  const { instance, secret, title } = made;
  return (
    <Callout kind="waits" title={visible(title)} action={<Button onClick={onDone}>Done</Button>}>
      {secret == null ? (
        "The token of its runtime was lost in transit. Make another one with “New token”."
      ) : (
        <ol className={css.steps}>
          <li>
            On the machine with the folder, save the token of the runtime. It is shown once.
            <Command text={saveCommand(instance)} />
            <Command text={secret} />
          </li>
          <li>
            Start the runtime.
            <Command text={runtimeCommand(instance, serverAddress())} />
          </li>
        </ol>
      )}
    </Callout>
  );
}

function Command({ text }: { text: string }) {
  return (
    <span className={css.command}>
      <code>{visible(text)}</code> <Copy text={text} />
    </span>
  );
}

export function AddInstance(props: { onClose(): void; onMade(made: MadeToken): void }) {
  const [sendKeyed] = useState(keyedSender);
  const [name, setName] = useState("");
  const [folder, setFolder] = useState("");
  const [runtimeFolder, setRuntimeFolder] = useState("");
  const submit = async () => {
    const there = runtimeFolder.trim();
    const body: InstanceRequest = {
      name: name.trim(),
      kind: "directory",
      folder: folder.trim(),
      runtime_folder: there === "" ? null : there,
    };
    const { data } = await sendKeyed(body, (idempotencyKey) =>
      request<RuntimeToken>("POST", "/instances", { body, idempotencyKey }),
    );
    refetch("instances");
    props.onMade({ ...data, title: `${data.instance.name} is added` });
  };
  return (
    <FormDialog
      title="Add an instance"
      note={
        <>
          A folder in which a runtime takes turns, on this machine or on another one. Servers write each run
          that is placed there into it, as a file. The same as{" "}
          <code>matins instance add NAME --kind directory --folder PATH</code>
        </>
      }
      action="Add"
      submit={submit}
      onClose={props.onClose}
    >
      <Field
        label="Name"
        name="name"
        value={name}
        required
        onChange={(event) => setName(event.target.value)}
      />
      <Field
        label="Folder"
        name="folder"
        value={folder}
        required
        placeholder="/srv/agent/triggers"
        note="The absolute path at which this server writes."
        onChange={(event) => setFolder(event.target.value)}
      />
      <Field
        label="Folder of the runtime"
        name="runtime_folder"
        value={runtimeFolder}
        placeholder={folder.trim() === "" ? "/srv/agent/triggers" : folder.trim()}
        note="Optional: the path of the same folder on the machine of the runtime, if it is another one."
        onChange={(event) => setRuntimeFolder(event.target.value)}
      />
    </FormDialog>
  );
}

/** Returns a new token of the runtime of an instance. The earlier token is invalid from then on. */
export async function rotateToken(instance: Instance): Promise<MadeToken> {
  const { data } = await request<RuntimeToken>("POST", `/instances/${instance.id}/token`);
  return { ...data, title: `The new token of ${data.instance.name}` };
}
