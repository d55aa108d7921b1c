// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/why.h"

// Why a setting had its effect, or none.
namespace ncclprobe::analysis::proof_reason {

inline constexpr FindingKind k_read_other{"read_other_value", Severity::note, "NCCL read {value}"},
    k_plugin_changed_it{"environment_plugin", Severity::note,
                        "NCCL read {value}; an environment plugin interferes: {plugin}"},
    k_no_network{"no_network", Severity::note,
                 "NCCL read it, but no connection of this run goes over a network"},
    k_outside{"outside_documented_values", Severity::note,
              "read, but outside NCCL's documented values"},
    k_outside_and_configured{"outside_and_configured", Severity::note,
                             "read, but outside NCCL's documented values; the communicator's "
                             "configuration sets it"},
    k_not_read{"not_read", Severity::note, "NCCL does not read it: {why}"},
    k_no_such_name{"no_such_name", Severity::note, "NCCL reads no variable with such a name"},
    k_similar_name{"similar_name", Severity::note, "{why}"},
    k_empty_value{"empty_value", Severity::note, "an empty value has no effect"},
    k_configured{"configured", Severity::note, "the communicator's configuration sets it"},
    k_misread{"misread", Severity::note, "{why}"},
    k_no_log{"no_log", Severity::note, "its companion trial has no NCCL log of this rank"},
    k_nothing_recorded{"nothing_recorded", Severity::note, "its companion trial recorded nothing"},
    k_one_node{"one_node", Severity::note, "all ranks are on one node"},
    k_not_reached{"not_reached", Severity::note, "NCCL did not reach the code that reads it"},
    k_not_logged{"not_logged", Severity::note, "NCCL does not log this variable"},
    k_nothing_sets_it{"nothing_sets_it", Severity::note, "nothing sets it"},
    k_set_by_file{"set_by_file", Severity::note, "a configuration file sets it"},
    k_backend_ignores_it{"backend_ignores_it", Severity::note,
                         "the {backend} backend does not read it"},
    k_used_other{"used_other", Severity::note, "{function} used {taken} anyway"},
    k_tuner_used_other{"tuner_used_other", Severity::note,
                       "{function} used {taken} anyway; a tuner plugin interferes: {plugin}"},
    k_cell_used_other{"cell_used_other", Severity::note,
                      "{workload} used {setting} {taken} anyway"},
    k_all_used_it{"all_used_it", Severity::note, "all calls used it"},
    k_not_reported{"not_reported", Severity::note, "the library did not report it"},
    k_loaded{"loaded", Severity::note, "{libraries}"},
    k_path_led_to{"path_led_to", Severity::note, "loaded were {libraries}"},
    k_libraries_unknown{"libraries_unknown", Severity::note,
                        "its workers did not report their loaded libraries"},
    k_ran_on{"ran_on", Severity::note, "it ran on CPUs {cpus}"},
    k_ran_on_default{"ran_on_default", Severity::note, "it ran on CPUs {cpus}, as by default"},
    k_cpus_unknown{"cpus_unknown", Severity::note, "its worker did not report its CPUs"},
    k_trial_failed{"trial_failed", Severity::note, "{outcome}"};

} // namespace ncclprobe::analysis::proof_reason
