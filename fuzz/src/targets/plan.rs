//! Studies, in TOML as in a file and in JSON as the API gets them, and their plans.

use taximeter_service::{StudyPlan, StudyRequest, plans};

/// The most questions of a study that is planned here, each as often as it is asked, so that one input takes no seconds.
const PLANNED: u64 = 100;

/// A study is read or refused. What is read is written as JSON, read back, and planned in the same way.
pub fn check(data: &[u8]) {
    let Some(text) = super::text(data) else { return };
    let read = [StudyRequest::parse(text).ok(), serde_json::from_str(text).ok()];
    for study in read.into_iter().flatten() {
        let written = serde_json::to_string(&study).unwrap();
        let sent: StudyRequest = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(serde_json::to_string(&sent).unwrap(), without_nulls(&study), "{written}");
        if study.questions.iter().map(|question| u64::from(question.times.get())).sum::<u64>() <= PLANNED {
            let (here, there) = (plan(&study), plan(&sent));
            assert!(here == there || written != without_nulls(&study), "{written}: {here:?} and {there:?}");
            here.iter().for_each(check_plan);
        }
    }
}

/// The study as JSON, without numbers of TOML that JSON does not have (NaN and the infinities), which are written as null.
fn without_nulls(study: &StudyRequest) -> String {
    let mut study = study.clone();
    for question in &mut study.questions {
        for number in [&mut question.error, &mut question.epsilon, &mut question.delta, &mut question.gaussian] {
            *number = number.take().filter(|number| !number.is_null());
        }
    }
    serde_json::to_string(&study).unwrap()
}

/// The plan, or why there is none.
fn plan(study: &StudyRequest) -> Result<StudyPlan, String> {
    let gate = super::question::gate();
    plans::plan(gate.catalog(), study, &|charges| gate.ledger().quote_sequence(charges))
        .map_err(|problem| problem.detail)
}

/// Every question has its place, and no account has more left afterwards.
fn check_plan(plan: &StudyPlan) {
    let places: Vec<u32> = plan.in_order().into_iter().map(|at| plan.questions[at].place).collect();
    assert!(places.iter().copied().eq(1..=plan.questions.len() as u32), "{plan:?}");
    assert_eq!(plan.fits_now, plan.accounts.iter().all(|account| account.refused.is_none()), "{plan:?}");
    for account in &plan.accounts {
        assert_eq!(account.left_after.is_some(), account.refused.is_none(), "{plan:?}");
        let (left, after) = (account.left.map(|left| left.0), account.left_after.map(|left| left.0));
        assert!(after.is_none_or(|after| left.is_some_and(|left| after <= left)), "{plan:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise nothing behind the reading would be tried.
    #[test]
    fn a_study_of_the_corpus_is_planned() {
        let text = include_str!("../../corpus/plan/toml-01");
        let plan = plan(&StudyRequest::parse(text).unwrap()).unwrap();
        assert!(plan.fits_now && plan.questions.len() == 2, "{plan:?}");
        check(text.as_bytes());
    }
}
