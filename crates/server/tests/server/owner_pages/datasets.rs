//! Registering and changing datasets.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_registers_a_file_and_newer_data() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    let fields = [
        ("dataset", "people"),
        ("epsilon", "1"),
        ("delta", "1e-6"),
        ("rule", "zcdp"),
        ("unit", "person"),
        ("max_rows", "1"),
        ("neighbours", "substitute"),
        ("bounds", "age=0..120"),
        ("categories", "region=north,south"),
        ("reuse", "yes"),
    ];
    let csv = "person,age,region\na,31,north\na,32,south\nb,47,south\n";
    let reply = send_file(&mut owner, "/register", &fields, csv).await.expect(303);
    assert_eq!(reply.header("location"), "/datasets/people");
    let page = owner.follow(reply).await.expect(200).text();
    assert!(page.contains("people is registered, version 1. 2 of its 3 rows count."), "{page}");
    let dataset = server.get("owner", "/v1/datasets/people").await.expect(200).json();
    assert_eq!(
        json!([dataset["rows"], dataset["reuse"], dataset["schema"]["unit"], dataset["schema"]["neighbours"]]),
        json!([2, true, "person", "substitute"])
    );
    assert_eq!(dataset["account"]["filter"]["rule"], "zcdp");
    assert_eq!(std::fs::read_dir(server.uploads()).unwrap().count(), 0);
    // The same form again is rejected.
    let again = send_file(&mut owner, "/register", &fields, csv).await.expect(400).text();
    assert!(again.contains("dataset people already exists"), "{again}");
    // Newer data.
    let newer = send_file(&mut owner, "/datasets/people/data", &[], &format!("{csv}c,52,north\n")).await.expect(303);
    assert!(
        owner
            .follow(newer)
            .await
            .expect(200)
            .text()
            .contains("people is registered, version 2. 3 of its 4 rows count.")
    );
    let other = send_file(&mut owner, "/datasets/people/data", &[], "x\n1\n").await.expect(400).text();
    assert!(other.contains("does not have") || other.contains("which the data do not have"), "{other}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_arrived_need_not_be_sent_again() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    let wrong = [("dataset", "people"), ("unit", "row"), ("epsilon", "much"), ("bounds", "age=0..120")];
    let page = send_file(&mut owner, "/register", &wrong, TestServer::CSV).await.expect(400);
    let upload = page.hidden("upload").unwrap();
    let text = page.text();
    assert!(
        text.contains("value=\"people\"") && text.contains("age=0..120</textarea>") && text.contains("much"),
        "{text}"
    );
    assert_eq!(std::fs::read_dir(server.uploads()).unwrap().count(), 1);
    let right = [("dataset", "people"), ("unit", "row"), ("epsilon", "1"), ("delta", "1e-6"), ("upload", &upload)];
    send_file(&mut owner, "/register", &right, "").await.expect(303);
    assert_eq!(server.get("owner", "/v1/datasets/people").await.expect(200).json()["rows"], 4);
    assert_eq!(std::fs::read_dir(server.uploads()).unwrap().count(), 0);
    // The upload is gone, and without a file registration fails.
    send_file(
        &mut owner,
        "/register",
        &[("dataset", "x"), ("unit", "row"), ("epsilon", "1"), ("delta", "1e-6"), ("upload", &upload)],
        "",
    )
    .await
    .expect(404);
    let nothing = send_file(&mut owner, "/register", &[("dataset", "x"), ("unit", "row"), ("epsilon", "1")], "")
        .await
        .expect(400);
    assert!(nothing.text().contains("the file is empty; fill it in"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dataset_without_a_unit_or_with_two_bounds_of_a_column_is_not_registered() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    let page = owner.get("/register").await.text();
    let unit = page.split("name=\"unit\"").nth(1).unwrap().split('>').next().unwrap();
    assert!(unit.contains("required"), "{unit}");
    for (field, said) in [
        (("dataset", "people"), "the privacy unit is empty; fill it in"),
        (("unit", "nosuch"), "how many rows of one nosuch may count"),
    ] {
        let fields = [("dataset", "people"), ("epsilon", "1"), ("delta", "1e-6"), field];
        let page = send_file(&mut owner, "/register", &fields, TestServer::CSV).await.expect(400).text();
        assert!(page.contains(said), "{page}");
    }
    let fields = [("dataset", "people"), ("unit", "row"), ("epsilon", "1"), ("bounds", "age=0..120\r\nage=0..90")];
    let page = send_file(&mut owner, "/register", &fields, TestServer::CSV).await.expect(400).text();
    assert!(page.contains("the bounds have two lines for the column age; keep one"), "{page}");
    server.get("owner", "/v1/datasets/people").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_read_with_the_separator_and_the_text_for_missing_values_that_the_form_says() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    let mut fields =
        vec![("dataset", "people"), ("unit", "row"), ("epsilon", "1"), ("delta", "1e-6"), ("missing", "NA")];
    fields.push(("delimiter", "two"));
    let page = send_file(&mut owner, "/register", &fields, "a,b;c\n1;2\n").await.expect(400).text();
    assert!(page.contains("write one character, such as ;, or the word tab"), "{page}");
    fields.pop();
    fields.extend([("delimiter", ";"), ("encoding", "utf-8")]);
    send_file(&mut owner, "/register", &fields, "a,b;c\n1;2\nNA;3\n").await.expect(303);
    let columns = server.get("owner", "/v1/datasets/people").await.expect(200).json()["schema"]["columns"].clone();
    assert_eq!((&columns[0]["name"], &columns[0]["type"]), (&json!("a,b"), &json!("integer")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_likely_mistake_gives_a_warning_on_the_page() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    // The budget of the census is (5, 1e-6).
    let fields = [("dataset", "census/part"), ("unit", "row"), ("epsilon", "50"), ("delta", "1e-6")];
    let registered = send_file(&mut owner, "/register", &fields, TestServer::CSV).await.expect(303);
    let page = owner.follow(registered).await.text();
    assert!(page.contains("Warning: the budget of census/part, (50, 1e-6), is above that of census"), "{page}");
    let key = owner.get("/tokens").await.hidden("key").unwrap();
    let token = [("principal", "carol"), ("role", "analyst"), ("accounts", "census/carol"), ("key", &key)];
    let page = owner.post("/tokens", &token).await.text();
    assert!(page.contains("Warning: there is no account census/carol yet"), "{page}");
    let analyst = [("analyst", "dora"), ("epsilon", "60"), ("delta", "1e-6")];
    owner.get("/datasets/census").await.expect(200);
    let added = owner.post("/datasets/census/analysts", &analyst).await;
    let page = owner.follow(added).await.text();
    assert!(page.contains("Warning: the budget of census/dora"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_rows_reject_a_file_or_are_skipped() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    let csv = "age\n1\nx\n3\n";
    let fields = [
        ("dataset", "ages"),
        ("unit", "row"),
        ("epsilon", "1"),
        ("delta", "1e-6"),
        ("types", "age=integer"),
        ("bounds", "age=0..9"),
    ];
    send_file(&mut owner, "/register", &fields, csv).await.expect(400);
    let fields: Vec<(&str, &str)> = fields.into_iter().chain([("skip_bad_rows", "yes")]).collect();
    let registered = send_file(&mut owner, "/register", &fields, csv).await.expect(303);
    let page = owner.follow(registered).await.text();
    assert!(page.contains("2 of its 3 rows count.") && page.contains("1 cannot be read"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_too_large_is_rejected_and_removed() {
    let server = TestServer::with(Settings { largest_upload: 10_000, largest_body: 5_000, ..Settings::default() });
    let mut owner = server.sign_in("owner").await;
    let fields = [("dataset", "people"), ("unit", "row"), ("epsilon", "1"), ("delta", "1e-6")];
    for rows in [5_000, 20_000] {
        let csv = format!("age\n{}", "1\n".repeat(rows));
        send_file(&mut owner, "/register", &fields, &csv).await.expect(413);
    }
    assert_eq!(std::fs::read_dir(server.uploads()).unwrap().count(), 0);
    send_file(&mut owner, "/register", &fields, &format!("age\n{}", "1\n".repeat(4_000))).await.expect(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_of_a_database_is_not_shown_again() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    owner.get("/register/postgres").await.expect(200);
    for url in ["postgres://me:Tr0ub4dor@127.0.0.1:1/db", "postgres://me:Tr0ub4dor@[/db", "Tr0ub4dor"] {
        let fields = [
            ("dataset", "far"),
            ("unit", "row"),
            ("epsilon", "1"),
            ("delta", "1e-6"),
            ("url", url),
            ("table", "people"),
        ];
        let reply = owner.post("/register/postgres", &fields).await;
        assert!(!reply.status.is_success() && reply.is_page(), "{}", reply.status);
        let page = reply.text();
        assert!(!page.contains("Tr0ub4dor") && page.contains("value=\"people\""), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_adds_an_analyst() {
    let server = TestServer::new();
    let mut owner = server.sign_in("owner").await;
    owner.get("/datasets/census").await.expect(200);
    let fields = [("analyst", "carol"), ("epsilon", "0.5"), ("delta", "1e-7")];
    let added = owner.post("/datasets/census/analysts", &fields).await;
    let page = owner.follow(added).await.expect(200).text();
    assert!(page.contains("The account census/carol is open.") && page.contains("/accounts/census%2Fcarol"), "{page}");
    let account = server.get("owner", "/v1/accounts/census%2Fcarol").await.expect(200).json();
    assert_eq!((&account["filter"]["rule"], &account["filter"]["budget"]["epsilon"]), (&json!("basic"), &json!("0.5")));
    // A second time fails, and the form keeps its values.
    let again = owner.post("/datasets/census/analysts", &fields).await.expect(400).text();
    assert!(again.contains("value=\"carol\"") && again.contains("value=\"0.5\""), "{again}");
    let nothing = owner.post("/datasets/census/analysts", &[("analyst", "dave")]).await.expect(400).text();
    assert!(nothing.contains("needs a budget"), "{nothing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_sees_why_a_question_has_no_answer() {
    let server = TestServer::new();
    let gate = server.folder.path().join("gate");
    let records = rusqlite::Connection::open(gate.join("gate.db")).unwrap();
    let full = "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'no room'); END";
    records.execute_batch(full).unwrap();
    let asked = server.ask("alice", "SELECT COUNT(*) FROM census", "0.1", "lost", json!({})).await;
    assert_eq!(asked.code().as_deref(), Some("no-answer"));
    let mut owner = server.sign_in("owner").await;
    let page = owner.get("/datasets").await.expect(200).text();
    assert!(page.contains("alice:lost") && page.contains("no room"), "{page}");
    std::fs::remove_file(gate.join("census.v1.db")).unwrap();
    let checked = owner.post("/datasets/census/check", &[]).await;
    assert!(!checked.status.is_success() && checked.text().contains("role=\"alert\""), "{}", checked.text());
    assert!(checked.text().contains("<h2 id=\"columns\">"));
    for who in ["auditor", "alice"] {
        let page = server.sign_in(who).await.get("/datasets").await.expect(200).text();
        assert!(!page.contains("no room") && !page.contains("alice:lost"), "{page}");
    }
}

#[cfg(feature = "server-tests")]
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_registers_a_table_and_refreshes_it() {
    let url = tokio::task::spawn_blocking(|| {
        let url = taximeter_testing::PrivatePostgres::shared().new_database().unwrap();
        let visits = "CREATE TABLE visits AS SELECT 'p' || (row % 50) AS person, (row % 90)::int4 AS age FROM generate_series(1, 500) row";
        taximeter_testing::query(&url, visits).unwrap();
        url
    });
    let url = url.await.unwrap();
    let hosts = taximeter_postgres::PostgresAddress::parse(&url).unwrap().config().get_hosts().to_vec();
    let postgres_hosts = hosts.into_iter().map(|host| match host {
        tokio_postgres::config::Host::Tcp(name) => name,
        tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
    });
    let server = TestServer::with(Settings { postgres_hosts: postgres_hosts.collect(), ..Settings::default() });
    let mut owner = server.sign_in("owner").await;
    owner.get("/register/postgres").await.expect(200);
    for (dataset, unit) in [("rows", &[("unit", "row")][..]), ("people", &[("unit", "person"), ("max_rows", "3")])] {
        let mut fields =
            vec![("dataset", dataset), ("epsilon", "1"), ("delta", "1e-6"), ("url", &url), ("table", "visits")];
        fields.extend_from_slice(unit);
        let registered = owner.post("/register/postgres", &fields).await;
        let page = owner.follow(registered).await.expect(200).text();
        assert!(page.contains(&format!("{dataset} is registered, version 1.")), "{page}");
        assert_eq!(page.contains("/refresh"), unit.len() == 2, "{page}");
        assert!(!page.contains("/data\""), "{page}");
    }
    assert!(owner.get("/datasets/people").await.text().contains("<dd>150</dd>"));
    let refreshed = owner.post("/datasets/people/refresh", &[]).await;
    assert!(
        owner.follow(refreshed).await.expect(200).text().contains("The rows of people were selected again: version 2.")
    );
    let checked = owner.post("/datasets/people/check", &[]).await;
    assert!(
        owner
            .follow(checked)
            .await
            .expect(200)
            .text()
            .contains("people is unchanged since it was registered: version 2, 2 columns.")
    );
}
