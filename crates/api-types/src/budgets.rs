//! Budgets, and the usage that counts against them.

use model::{
    Timestamp,
    budget::{self, Account, InvalidMoney, UsageTotals},
};
use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, RefOr,
        schema::{AdditionalProperties, Schema, Type},
    },
};

use crate::{Change, document::document};

document! {
    /// The limits of usage. Null means no limit.
    budget::Budget => Budget, BudgetRequest, BudgetPatch {
        /// The limits of one run.
        run: RunLimits => RunLimitsRequest, RunLimitsPatch;
        /// The limits of all runs of a day, in UTC.
        day: PeriodLimits => PeriodLimitsRequest, PeriodLimitsPatch;
        /// The limits of all runs of a month, in UTC.
        month: PeriodLimits => PeriodLimitsRequest, PeriodLimitsPatch;
    }
}

document! {
    /// The limits of one run. A run is one turn, so there is no limit of turns.
    budget::RunLimits => RunLimits, RunLimitsRequest, RunLimitsPatch {
        /// The maximum growth of the agent's context, in tokens.
        #[schema(minimum = 1, maximum = 1_000_000_000_000_000_u64)]
        tokens: Option<u64> => Option<u64>, u64;
        /// The maximum cost that the agent may report.
        cost: Option<Money> => each Option<MoneyRequest>, MoneyPatch;
    }
}

document! {
    /// The limits of all runs of a day or a month together.
    budget::PeriodLimits => PeriodLimits, PeriodLimitsRequest, PeriodLimitsPatch {
        /// The maximum growth of all agents' contexts, in tokens.
        #[schema(minimum = 1, maximum = 1_000_000_000_000_000_u64)]
        tokens: Option<u64> => Option<u64>, u64;
        /// The maximum cost that the agents may report.
        cost: Option<Money> => each Option<MoneyRequest>, MoneyPatch;
        /// The maximum number of turns that begin. Each attempt counts as one.
        #[schema(minimum = 1, maximum = 1_000_000_000)]
        turns: Option<u32> => Option<u32>, u32;
        /// The maximum number of minutes that the turns take together, by the clock on the wall.
        #[schema(minimum = 1, maximum = 1_000_000_000)]
        minutes: Option<u32> => Option<u32>, u32;
    }
}

/// An amount of money in a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "MoneyFields", into = "MoneyFields")]
pub struct Money(budget::Money);

/// An amount of money in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StrictMoneyFields", into = "MoneyFields")]
pub struct MoneyRequest(budget::Money);

/// The changes of an amount of money (merge patch, RFC 7396).
///
/// A field that is absent keeps its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MoneyPatch {
    /// A decimal number with at most six digits after the point, such as `20` or `0.25`.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>)]
    pub amount: Change<String>,
    /// A code of ISO 4217 such as `USD`, in any case.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>)]
    pub currency: Change<String>,
}

/// The changes of the budget of a goal (merge patch, RFC 7396). A limit that is absent keeps its value, and null removes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GoalBudgetPatch {
    /// The maximum growth of the contexts of all agents, in tokens.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_000_u64)]
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<u64>)]
    pub tokens: Change<u64>,
    /// The maximum cost that the agents may report.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<MoneyPatch>)]
    pub cost: Change<MoneyPatch>,
}

/// The JSON properties of an amount of money.
#[derive(Serialize, Deserialize)]
struct MoneyFields {
    amount: String,
    currency: String,
}

/// The JSON properties of an amount of money in a request. Unknown keys are refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StrictMoneyFields {
    amount: String,
    currency: String,
}

impl Money {
    /// Returns the amount as a domain value.
    pub const fn domain(&self) -> &budget::Money {
        &self.0
    }
}

impl From<budget::Money> for Money {
    fn from(money: budget::Money) -> Self {
        Self(money)
    }
}

impl From<Money> for budget::Money {
    fn from(money: Money) -> Self {
        money.0
    }
}

impl From<budget::Money> for MoneyRequest {
    fn from(money: budget::Money) -> Self {
        Self(money)
    }
}

impl From<MoneyRequest> for budget::Money {
    fn from(money: MoneyRequest) -> Self {
        money.0
    }
}

impl From<MoneyRequest> for MoneyPatch {
    fn from(MoneyRequest(money): MoneyRequest) -> Self {
        Self {
            amount: Change::To(money.amount()),
            currency: Change::To(money.currency().to_owned()),
        }
    }
}

impl TryFrom<MoneyFields> for Money {
    type Error = InvalidMoney;

    fn try_from(fields: MoneyFields) -> Result<Self, InvalidMoney> {
        budget::Money::parse(&fields.amount, &fields.currency).map(Self)
    }
}

impl TryFrom<StrictMoneyFields> for MoneyRequest {
    type Error = InvalidMoney;

    fn try_from(fields: StrictMoneyFields) -> Result<Self, InvalidMoney> {
        let money = budget::Money::parse(&fields.amount, &fields.currency)?;
        // An unknown currency is a value that the validation of the budget refuses, with the name of its field.
        Ok(Self(money.with_upper_case_code()))
    }
}

impl From<Money> for MoneyFields {
    fn from(Money(money): Money) -> Self {
        Self {
            amount: money.amount(),
            currency: money.currency().to_owned(),
        }
    }
}

impl From<MoneyRequest> for MoneyFields {
    fn from(MoneyRequest(money): MoneyRequest) -> Self {
        Money(money).into()
    }
}

impl PartialSchema for Money {
    fn schema() -> RefOr<Schema> {
        money_schema().into()
    }
}

impl ToSchema for Money {}

impl PartialSchema for MoneyRequest {
    fn schema() -> RefOr<Schema> {
        let closed = AdditionalProperties::<Schema>::FreeForm(false);
        money_schema().additional_properties(Some(closed)).into()
    }
}

impl ToSchema for MoneyRequest {}

fn money_schema() -> ObjectBuilder {
    let text = |description: &str, pattern: &str| {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(description))
            .pattern(Some(pattern))
    };
    ObjectBuilder::new()
        .description(Some("An amount of money."))
        .property(
            "amount",
            text(
                "A decimal number with at most six digits after the point, such as `20` or `0.25`.",
                r"^([0-9]{1,9}(\.[0-9]{1,6})?|10{9}(\.0{1,6})?)$",
            ),
        )
        .required("amount")
        .property(
            "currency",
            text(
                "A code of ISO 4217 such as `USD`. A limit has it in any case; agents may report costs in other units.",
                "^[A-Za-z0-9]{1,16}$",
            ),
        )
        .required("currency")
}

/// A budget and the usage that counts against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BudgetUsage {
    /// The limits.
    pub budget: Budget,
    /// The usage of today, in UTC.
    pub day: BudgetPeriodUsage,
    /// The usage of this month, in UTC.
    pub month: BudgetPeriodUsage,
}

/// The usage of a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BudgetPeriodUsage {
    /// The start of the period.
    pub since: Timestamp,
    /// The end of the period. The next period starts at zero.
    pub until: Timestamp,
    /// The growth of all agents' contexts, in tokens.
    #[schema(minimum = 0)]
    pub tokens: u64,
    /// The cost that the agents reported, one amount for each currency.
    pub cost: Vec<Money>,
    /// The number of turns that began.
    #[schema(minimum = 0)]
    pub turns: u64,
    /// The whole minutes that turns took. A running turn counts when it has ended.
    #[schema(minimum = 0)]
    pub minutes: u64,
}

impl From<Account> for BudgetUsage {
    fn from(account: Account) -> Self {
        let periods = account.periods;
        let period = |since, until, used: &UsageTotals| BudgetPeriodUsage {
            since,
            until,
            tokens: used.tokens,
            cost: used.money().into_iter().map(Into::into).collect(),
            turns: used.turns,
            minutes: used.minutes(),
        };
        Self {
            day: period(periods.day, periods.day_end, &account.day),
            month: period(periods.month, periods.month_end, &account.month),
            budget: account.budget.into(),
        }
    }
}
