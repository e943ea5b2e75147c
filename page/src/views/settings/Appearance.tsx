import { useState } from "react";
import { useServer } from "../../api/queries";
import { readerZone } from "../../kit/format";
import { chooseTheme, storedTheme, type Theme } from "../../shell/theme";
import css from "./settings.module.css";

const THEMES: { value: Theme; label: string }[] = [
  { value: "system", label: "As the system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

/** What this browser keeps for itself. */
export function Appearance() {
  const [theme, setTheme] = useState(storedTheme);
  const server = useServer();
  return (
    <>
      <fieldset className={css.kinds}>
        <legend>Theme, in this browser</legend>
        {THEMES.map((each) => (
          <label key={each.value} className={css.check}>
            <input
              type="radio"
              name="theme"
              checked={theme === each.value}
              onChange={() => {
                chooseTheme(each.value);
                setTheme(each.value);
              }}
            />
            {each.label}
          </label>
        ))}
      </fieldset>
      <p className={css.note}>
        Times are in {readerZone()}, the zone of this browser. The key <kbd>?</kbd> shows all keys.
        {server.data && ` This server runs version ${server.data.version}.`}
      </p>
    </>
  );
}
