//! What is offered for a question: a price, or the noise that costs the account least for an error.

use clap::Args;
use taximeter_accounting::{Amount, Rounding};
use taximeter_gate::{NoiseKind, Number, Price};
use taximeter_service::{ChargeRequest, DeclaredCost, QuoteDocument, QuotedAccountDocument};

use super::ask::Asker;
use crate::args::flag;
use crate::backend::Backend;
use crate::output::{Failure, in_flag, show_share, tell, usage};

/// The price of an answer.
#[derive(Args, Clone)]
#[command(next_help_heading = "The price (one of)")]
pub struct PriceArgs {
    /// epsilon, for discrete Laplace noise, and for quantiles
    #[arg(long, value_name = "EPSILON", group = "price")]
    epsilon: Option<String>,
    /// With --epsilon: delta, needed only to group by a column without declared categories. Groups above a threshold are answered. It is
    /// paid from the part of the account's delta that --mechanism-delta sets aside when the account is created
    #[arg(long, value_name = "DELTA", requires = "epsilon", conflicts_with_all = ["gaussian", "error"])]
    delta: Option<String>,
    /// mu, for Gaussian noise, rounded to whole steps: charged as --gaussian mu
    #[arg(long, value_name = "MU", group = "price")]
    gaussian: Option<String>,
    /// The smallest cost for which the 95% interval is at most ± WIDTH
    #[arg(long, value_name = "WIDTH", group = "price")]
    error: Option<String>,
    /// The noise for --error; auto takes the one that costs the account less [default: laplace]
    #[arg(long, value_name = "NOISE", requires = "error", conflicts_with_all = ["epsilon", "gaussian"],
          value_parser = ["laplace", "gaussian", "auto"])]
    noise: Option<String>,
}

impl PriceArgs {
    /// The offer, if one was given.
    pub fn offer(&self) -> Result<Option<Offer>, Failure> {
        let given = [("--epsilon", &self.epsilon), ("--gaussian", &self.gaussian), ("--error", &self.error)];
        let given = given.into_iter().find_map(|(name, text)| Some((name, text.as_deref()?)));
        let Some((name, text)) = given else { return Ok(None) };
        let offer = Offer::named(name, text)?;
        if let Some(delta) = &self.delta {
            return offer.with_delta("--delta", delta).map(Some);
        }
        Ok(Some(match (offer, self.noise.as_deref()) {
            (Offer::Price(Price::Error { width, .. }), Some("gaussian")) => {
                Offer::Price(Price::Error { width, noise: NoiseKind::Gaussian })
            }
            (Offer::Price(Price::Error { width, .. }), Some("auto")) => Offer::CheapestNoise(width),
            (offer, _) => offer,
        }))
    }
}

/// What is offered for every question.
#[derive(Clone, Copy)]
pub enum Offer {
    /// A price.
    Price(Price),
    /// An error, with the noise that costs the account less.
    CheapestNoise(Number),
}

impl Offer {
    /// An offer by the name of its flag, or of its command at the prompt.
    pub fn named(name: &str, text: &str) -> Result<Offer, Failure> {
        Ok(Offer::Price(match name.trim_start_matches(['-', '\\']) {
            "epsilon" => Price::Epsilon(flag(name, text, Rounding::Up)?),
            "gaussian" => Price::Gaussian(flag(name, text, Rounding::Up)?),
            _ => Price::Error { width: Number::parse(text).map_err(in_flag(name))?, noise: NoiseKind::Laplace },
        }))
    }

    /// The same ε with this δ; 0 takes it away.
    pub fn with_delta(self, name: &str, text: &str) -> Result<Offer, Failure> {
        let delta: Amount = flag(name, text, Rounding::Up)?;
        match self {
            Offer::Price(Price::Epsilon(epsilon) | Price::Approximate { epsilon, .. }) => {
                Ok(Offer::Price(match delta {
                    Amount::ZERO => Price::Epsilon(epsilon),
                    delta => Price::Approximate { epsilon, delta },
                }))
            }
            _ => Err(usage(format!("{name}: a delta goes with an epsilon; give both"))),
        }
    }

    /// The price for a question. The cheaper noise is found by quoting both; nothing is charged.
    pub fn price(self, backend: &dyn Backend, asker: &Asker, question: &str) -> Result<Price, Failure> {
        let width = match self {
            Offer::Price(price) => return Ok(price),
            Offer::CheapestNoise(width) => width,
        };
        let [laplace, gaussian] = [NoiseKind::Laplace, NoiseKind::Gaussian].map(|noise| {
            let price = Price::Error { width, noise };
            let explanation = backend.explain(&asker.request(question, price))?;
            let costs = explanation.charges.into_iter().map(DeclaredCost).collect();
            let accounts = vec![explanation.account];
            let charge = ChargeRequest { accounts, costs, unit: None, neighbours: None, by: None, note: None };
            Ok((price, Burden::of(&backend.quote(&charge)?)))
        });
        let (price, burden) = match (laplace, gaussian) {
            // An account may take one of them only.
            (Err(failure), Err(_)) => return Err(failure),
            (Ok((price, _)), Err(_)) | (Err(_), Ok((price, _))) => return Ok(price),
            (Ok((laplace, one)), Ok((gaussian, other))) => match other.is_below(&one) {
                true => (gaussian, [("Gaussian", other), ("Laplace", one)]),
                false => (laplace, [("Laplace", one), ("Gaussian", other)]),
            },
        };
        let [(chosen, less), (left_out, more)] = burden;
        tell(&format!("note: {chosen} noise, which takes {less}; {left_out} noise would take {more}"));
        Ok(price)
    }

    /// The offer for people.
    pub fn describe(self) -> String {
        match self {
            Offer::Price(Price::Epsilon(epsilon)) => format!("ε = {epsilon}"),
            Offer::Price(Price::Approximate { epsilon, delta }) => {
                format!("ε = {epsilon}, and δ = {delta} if they group by a column without categories")
            }
            Offer::Price(Price::Gaussian(mu)) => format!("μ = {mu}, for Gaussian noise"),
            Offer::Price(Price::Error { width, noise: NoiseKind::Laplace }) => {
                format!("the least ε whose 95% interval is within ± {width}")
            }
            Offer::Price(Price::Error { width, noise: NoiseKind::Gaussian }) => {
                format!("the least μ whose 95% interval is within ± {width}")
            }
            Offer::CheapestNoise(width) => {
                format!("the cheaper of ε and μ for a 95% interval within ± {width}")
            }
        }
    }
}

/// How much a charge takes from the accounts that pay.
enum Burden {
    /// The largest share of a budget.
    Share(f64),
    /// Without budgets, by how much a reading rises.
    Reading(f64),
    /// It is refused.
    TooMuch,
}

impl Burden {
    fn of(quote: &QuoteDocument) -> Burden {
        let most = |of: &dyn Fn(&QuotedAccountDocument) -> Option<f64>| {
            quote
                .accounts
                .iter()
                .filter_map(of)
                .fold(None, |most: Option<f64>, next| Some(most.map_or(next, |most| most.max(next))))
        };
        let refused = quote.accounts.iter().any(|account| account.reason.is_some());
        let share = most(&|account| Some(account.left?.0 - account.left_after?.0));
        let reading = most(&|account| Some(account.reading_after?.0 - account.reading?.0));
        match (share, reading) {
            _ if refused => Burden::TooMuch,
            (Some(share), _) => Burden::Share(share),
            (None, Some(reading)) => Burden::Reading(reading),
            (None, None) => Burden::TooMuch,
        }
    }

    fn is_below(&self, other: &Burden) -> bool {
        match (self, other) {
            (Burden::Share(one), Burden::Share(other)) | (Burden::Reading(one), Burden::Reading(other)) => one < other,
            (Burden::TooMuch, _) => false,
            (_, other) => matches!(other, Burden::TooMuch),
        }
    }
}

impl std::fmt::Display for Burden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Burden::Share(share) => write!(f, "{} of the budget", show_share(*share)),
            Burden::Reading(rise) => write!(f, "{rise:.4} more on the reading"),
            Burden::TooMuch => f.write_str("more than is left"),
        }
    }
}
