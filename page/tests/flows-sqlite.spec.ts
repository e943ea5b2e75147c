import { test } from "./fixtures";
import { testFlows } from "./flows";

test.use({ stackName: "flows-sqlite", database: "sqlite" });
testFlows();
