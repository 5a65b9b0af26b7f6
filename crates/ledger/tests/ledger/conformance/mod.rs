//! What every store of a ledger must do, seen from outside: one suite, run on SQLite always and on PostgreSQL with the feature
//! `server-tests`.

mod accounts;
mod concurrency;
mod cosigning;
mod history;
mod idempotency;
mod limits;
mod model;
mod place;
mod queries;
mod receipts;
mod restoring;
mod transfer;
mod witness;

/// Makes a test of every behaviour for every store. Each is a function in the module of its name.
macro_rules! on_every_store {
    ($($module:ident { $($behaviour:ident,)* })*) => {
        mod sqlite {
            $(mod $module {
                $(#[test] fn $behaviour() { crate::conformance::$module::$behaviour(&crate::conformance::place::Place::sqlite()) })*
            })*
        }
        #[cfg(feature = "server-tests")]
        mod postgres {
            $(mod $module {
                $(#[test] fn $behaviour() { crate::conformance::$module::$behaviour(&crate::conformance::place::Place::postgres()) })*
            })*
        }
    };
}

on_every_store! {
    accounts {
        a_charge_is_paid_by_the_whole_path_once,
        what_was_acknowledged_is_there_after_opening_again,
        a_refusal_names_who_refuses_and_what_fits_on_all,
        a_refusal_changes_nothing_and_is_remembered_in_memory_only,
        an_account_set_to_stop_is_closed_by_its_first_halt,
        a_halt_of_one_account_charges_none_of_the_others,
        a_closed_account_takes_nothing_and_nothing_below_it_does,
        an_account_without_a_budget_never_refuses,
        a_quote_says_what_the_charge_does_and_charges_nothing,
        a_sequence_is_quoted_as_its_charges_would_be_decided_one_by_one,
        a_ledger_is_made_only_where_it_is_wished,
        the_last_handle_to_go_answers_everybody_first,
    }
    concurrency {
        thirty_two_threads_never_overspend_and_lose_or_double_nothing,
        a_second_writer_is_kept_out_or_shares_without_overspending,
        readers_beside_the_writer_see_whole_states,
        a_queue_with_room_for_one_serves_all_who_wait,
        a_full_queue_is_busy_and_charges_nothing,
        tasks_are_served_without_a_thread_each,
        a_dropped_future_is_charged_once_or_not_at_all,
    }
    cosigning {
        roots_and_proofs_follow_from_an_export_alone,
        verification_checks_stored_checkpoints,
        every_acknowledged_charge_is_covered_by_a_cosigned_checkpoint_after_one_request,
        without_enough_cosignatures_nothing_is_acknowledged_and_keys_tell_later,
        a_witness_that_is_named_twice_is_an_error,
        a_snapshot_of_ledger_and_witness_is_noticed_by_another_machine,
        a_copy_that_goes_on_is_a_fork_and_stops,
        a_witness_that_lies_does_not_stop_a_ledger_that_others_cosign,
        one_witness_with_a_proof_is_enough_to_notice_an_old_copy,
        writers_that_share_a_ledger_share_its_witnesses,
    }
    history {
        pages_cover_everything_exactly_once,
        a_place_that_is_not_in_the_history_is_an_error,
    }
    idempotency {
        the_same_request_again_returns_the_first_receipt,
        a_key_outlives_the_process,
        another_request_under_the_same_key_is_an_error,
        a_key_is_taken_on_the_whole_ledger,
        a_refused_request_leaves_its_key_free,
        a_replay_needs_no_budget_and_no_open_account,
        of_thirty_two_equal_requests_at_once_one_is_charged,
        of_thirty_two_requests_under_one_key_at_once_one_is_charged,
        what_is_not_new_is_found_wherever_it_stands_among_many,
    }
    limits {
        names_keys_and_notes_have_limits,
        a_charge_names_at_most_16_accounts_and_64_costs,
        the_largest_charge_is_paid_by_128_accounts,
        an_account_that_is_named_twice_pays_once,
        a_list_of_costs_is_paid_as_a_whole_or_not_at_all,
        what_costs_nothing_is_charged_and_changes_no_reading,
        enormous_costs_are_refused_by_budgets_and_counted_by_odometers,
        a_cost_that_a_rule_cannot_take_is_an_error_that_names_the_account,
        a_charge_about_another_unit_is_an_error,
        trees_of_different_units_are_not_charged_together,
        an_account_needs_a_parent_that_is_open_and_alike,
        an_account_that_does_not_exist_is_an_error,
        accounts_are_never_replaced,
        odd_texts_come_back_as_they_were,
    }
    queries {
        a_record_is_found_by_its_number_and_a_charge_by_its_key,
        records_are_read_in_order_from_a_number_on,
        a_running_ledger_and_a_reader_tell_the_same_history,
        readers_leave_nothing_behind,
        a_task_may_hold_the_last_handle,
        the_accounts_that_changed_since_a_record_are_told,
        a_running_ledger_tells_how_it_fares,
        what_fits_says_nothing_about_accounts_that_are_not_seen,
        a_halt_says_nothing_about_accounts_that_are_not_seen,
        a_refresh_changes_nothing_where_nobody_else_writes,
    }
    receipts {
        a_receipt_is_a_journal_line_and_its_blake3_hash,
        receipts_chain_to_the_first_record,
        what_a_receipt_reads_is_what_the_account_reads,
        a_fresh_receipt_cannot_be_copied,
        a_record_tells_nothing_about_other_accounts_to_who_guesses,
    }
    restoring {
        with_all_receipts_exactly_the_missing_charges_come_back,
        receipts_may_come_in_any_order_and_form,
        with_a_receipt_missing_nothing_is_restored,
        with_a_forged_receipt_nothing_is_restored,
        receipts_without_a_witness_that_knows_them_are_not_enough,
        receipts_of_another_branch_are_not_taken,
        after_accepting_the_loss_every_account_is_exhausted,
        after_accepting_the_loss_new_trees_work,
        the_lost_branch_does_not_open_after_the_loss_was_accepted,
        a_ledger_that_is_as_its_witness_remembers_is_not_restored,
        a_damaged_witness_counts_as_none,
        a_foreign_witness_is_left_alone,
        a_file_that_is_no_witness_is_left_alone,
    }
    transfer {
        an_export_is_a_chain_of_blake3_hashes,
        an_imported_ledger_is_the_same_ledger,
        an_export_that_was_cut_off_is_refused,
        an_export_that_was_edited_is_refused,
        an_export_with_lines_removed_swapped_or_repeated_is_refused,
        what_stands_behind_the_end_of_an_export_is_refused,
        an_import_does_not_touch_a_ledger_that_is_there,
        an_old_export_is_refused_where_the_witness_knows_more,
    }
    witness {
        a_missing_witness_keeps_the_ledger_closed,
        a_foreign_witness_keeps_the_ledger_closed,
        an_old_copy_is_noticed,
        a_copy_that_went_on_is_noticed,
        a_damaged_witness_keeps_the_ledger_closed,
        one_wrong_bit_in_the_newest_place_does_not_let_an_old_copy_in,
        a_witness_that_is_no_file_is_an_error_at_once,
        a_lock_on_the_witness_is_waited_for_only_so_long,
        files_are_for_their_owner_alone,
        a_witness_without_its_ledger_keeps_a_new_one_from_being_made,
        a_ledger_without_records_needs_no_witness,
    }
}

/// The model test runs for a store as a type, since that is how its library knows what to run.
#[test]
fn sqlite_agrees_with_the_model() {
    model::agrees_with_the_model::<model::Sqlite>();
}

#[cfg(feature = "server-tests")]
#[test]
fn postgres_agrees_with_the_model() {
    model::agrees_with_the_model::<model::Postgres>();
}
