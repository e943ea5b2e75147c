import { test } from "./fixtures";
import { testFlows } from "./flows";

test.use({ stackName: "flows-postgresql", database: "postgresql" });
testFlows();
