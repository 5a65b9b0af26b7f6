//! Datasets and questions at a server.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use taximeter_gate::{BadRows, CsvEngine, CsvForm, Data, DriverChoice, DummyAnswer, Origin, Registration, Rules};
use taximeter_ledger::files::make_private_folder;
use taximeter_ledger::{AccountName, Key, Who};
use taximeter_service::{
    CheckedDataset, Code, DatasetDocument, DatasetList, Explanation, FailedQuestionList, FilterRequest, NewAnalyst,
    NewAnalystDocument, NewData, NewDataset, NewPublicTable, OdometerRequest, Problem, PublicTableDocument,
    PublicTableList, QuestionOutcome, QuestionRequest, RegisteredDocument, RemovedPublicTable, Role, SchemaDocument,
    StudyPlan, StudyRequest, TokenDocument, Upload, WhoAmI,
};

use super::exchange::{Call, HttpAnswer};
use super::{Remote, segment};
use crate::backend::DatasetBackend;
use crate::config::variable;
use crate::gate::render::{in_study, with_position};
use crate::output::{Failure, usage};
use crate::progress::{CountingReader, Progress};

/// A driver runs with all rights of the server.
const DRIVERS_ON_ITS_MACHINE: &str =
    "drivers and the files they read are named on the server's machine: give --ledger there, and not --server";

impl DatasetBackend for Remote {
    fn datasets(&self) -> Result<DatasetList, Failure> {
        self.document(&Call::get("/v1/datasets"))
    }

    fn dataset(&self, name: &AccountName) -> Result<DatasetDocument, Failure> {
        self.document(&Call::get(format!("/v1/datasets/{}", segment(name))))
    }

    fn check(&self, name: &AccountName) -> Result<CheckedDataset, Failure> {
        self.document(&Call::get(format!("/v1/datasets/{}/check", segment(name))).long())
    }

    fn refresh(&self, name: &AccountName) -> Result<DatasetDocument, Failure> {
        self.document(&Call::post_empty(format!("/v1/datasets/{}/refresh", segment(name))).long())
    }

    fn move_to_duckdb(&self, _: &AccountName, _: DriverChoice) -> Result<DatasetDocument, Failure> {
        Err(usage(DRIVERS_ON_ITS_MACHINE))
    }

    fn log(&self, most: u32) -> Result<FailedQuestionList, Failure> {
        self.document(&Call::get(format!("/v1/log?limit={most}")))
    }

    fn register(&self, registration: &Registration) -> Result<RegisteredDocument, Failure> {
        let (filter, odometer) = match &registration.rules {
            Some(rules) => requests(rules),
            None => (None, None),
        };
        let dataset = NewDataset {
            dataset: registration.name.clone(),
            data: match &registration.data {
                Data::Csv { engine: CsvEngine::Duckdb(_), .. } | Data::Parquet { .. } | Data::Remote { .. } => {
                    return Err(usage(DRIVERS_ON_ITS_MACHINE));
                }
                Data::Csv { path, form, bad_rows, .. } => NewData::Upload {
                    id: self.upload_file(path)?,
                    skip_bad_rows: *bad_rows == BadRows::Skip,
                    form: form.clone(),
                },
                Data::Postgres { url, table } => NewData::Postgres { url: url.clone(), table: table.clone() },
                Data::Rows(_) => {
                    return Err(usage("rows in memory are not sent to a server; write them to a CSV file"));
                }
            },
            schema: Some(SchemaDocument::of(&registration.declaration)?),
            filter,
            odometer,
            new_version: registration.new_version,
            reuse: Some(registration.reuse),
            timeout_seconds: Some(registration.timeout.as_secs_f64()),
            min_epsilon: registration.min_epsilon,
        };
        // An upload can be used only once.
        self.document(&Call::post("/v1/datasets", &dataset)?.long().single())
    }

    fn public_tables(&self) -> Result<PublicTableList, Failure> {
        self.document(&Call::get("/v1/public-tables"))
    }

    fn put_public_table(&self, name: &AccountName, file: &Path, replace: bool) -> Result<PublicTableDocument, Failure> {
        let (public_table, upload) = (name.clone(), self.upload_file(file)?);
        let table = NewPublicTable { public_table, upload, form: CsvForm::default(), replace };
        // An upload can be used only once.
        self.document(&Call::post("/v1/public-tables", &table)?.single())
    }

    fn remove_public_table(&self, name: &AccountName) -> Result<RemovedPublicTable, Failure> {
        self.document(&Call::post_empty(format!("/v1/public-tables/{}/remove", segment(name))))
    }

    fn add_analyst(&self, dataset: &AccountName, analyst: &str, rules: Rules) -> Result<NewAnalystDocument, Failure> {
        let (filter, odometer) = requests(&rules);
        let analyst = NewAnalyst { analyst: analyst.to_string(), filter, odometer };
        self.document(&Call::post(format!("/v1/datasets/{}/analysts", segment(dataset)), &analyst)?)
    }

    fn payer(&self, dataset: &AccountName) -> Result<AccountName, Failure> {
        let WhoAmI { token, .. } = self.document(&Call::get("/v1/me"))?;
        let is_below = |name: &&AccountName| name.path().any(|above| above == dataset.as_str());
        let own: Vec<&AccountName> = token.accounts.iter().filter(is_below).collect();
        match (token.role, own.as_slice()) {
            (Role::Analyst, [account]) => Ok((*account).clone()),
            (Role::Analyst, _) => Err(usage(format!(
                "{} of your token's accounts can pay for {dataset}; choose one with --by",
                if own.is_empty() { "none" } else { "several" }
            ))),
            _ => Ok(dataset.clone()),
        }
    }

    fn own_token(&self) -> Result<Option<TokenDocument>, Failure> {
        let WhoAmI { token, .. } = self.document(&Call::get("/v1/me"))?;
        Ok(Some(token))
    }

    fn ask(&self, question: &QuestionRequest, _by: Option<&Who>, key: &Key) -> Result<QuestionOutcome, Failure> {
        let call = Call::post("/v1/questions", question)?.under(key)?.long();
        match self.answered(&call)? {
            Ok(answer) => {
                let (origin, document) = (origin(&answer), answer.into_text());
                // The answer is printed as received, so it must be valid JSON.
                self.parse::<serde::de::IgnoredAny>(&document)?;
                Ok(QuestionOutcome::Answered { origin, document })
            }
            Err(Problem { code: Code::Refused, refusal: Some(refusal), .. }) => Ok(QuestionOutcome::Refused(refusal)),
            Err(Problem { code: Code::NoAnswer, sequence: Some(sequence), .. }) => {
                Ok(QuestionOutcome::NoAnswer { sequence })
            }
            Err(problem) if problem.position.is_some() => Err(with_position(&question.question, problem)),
            Err(problem) => Err(self.failure(problem, &call)),
        }
    }

    fn explain(&self, question: &QuestionRequest) -> Result<Explanation, Failure> {
        self.about_question(question, &Call::post("/v1/questions/explain", question)?.repeatable())
    }

    fn plan(&self, study: &StudyRequest) -> Result<StudyPlan, Failure> {
        let call = Call::post("/v1/plans", study)?.repeatable();
        let answer = self.answered(&call)?.map_err(|problem| in_study(study, problem))?;
        self.parse(&answer.into_text())
    }

    fn ask_dummy(&self, question: &QuestionRequest, rows: u32) -> Result<DummyAnswer, Failure> {
        let path = format!("/v1/questions/dummy?rows={rows}");
        self.about_question(question, &Call::post(path, question)?.repeatable().long())
    }

    fn typed_lines(&self) -> Result<PathBuf, Failure> {
        let state = variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || variable("HOME").map(|home| PathBuf::from(home).join(".local/state"));
        let folder = state.or_else(home).unwrap_or_else(std::env::temp_dir).join("taximeter");
        make_private_folder(&folder)
            .map_err(|error| Failure::Other(format!("the folder {} cannot be created: {error}", folder.display())))?;
        Ok(folder.join("history.txt"))
    }
}

impl Remote {
    /// A document about a question, or where the question goes wrong.
    fn about_question<T: DeserializeOwned>(&self, question: &QuestionRequest, call: &Call<'_>) -> Result<T, Failure> {
        match self.answered(call)? {
            Ok(answer) => self.parse(&answer.into_text()),
            Err(problem) => Err(with_position(&question.question, problem)),
        }
    }

    /// Uploads a file before it is registered, and shows the progress. Returns the id of the upload.
    fn upload_file(&self, path: &Path) -> Result<String, Failure> {
        let unreadable = |error: std::io::Error| usage(format!("the file {} cannot be read: {error}", path.display()));
        let file = File::open(path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        let progress = Progress::new("uploading");
        let mut watched = CountingReader::new(file, |read| progress.share(read as f64 / bytes.max(1) as f64));
        let answer = self.upload("/v1/uploads", "text/csv", &mut watched)?;
        let Upload { upload, .. } = self.parse(&answer.into_text())?;
        Ok(upload)
    }
}

/// The requests for the rules of an account.
fn requests(rules: &Rules) -> (Option<FilterRequest>, Option<OdometerRequest>) {
    (rules.filter.as_ref().map(FilterRequest::from), Some(OdometerRequest::from(&rules.odometer)))
}

/// The origin of an answer, from its header.
fn origin(answer: &HttpAnswer) -> Origin {
    match answer.header("taximeter-answer") {
        Some("replayed") => Origin::Replayed,
        Some("reused") => Origin::Reused,
        _ => Origin::Fresh,
    }
}
