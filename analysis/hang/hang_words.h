// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/hang/verdict.h"
#include "analysis/report_value/report_value.h"

#include <string>
#include <vector>

// A verdict in words.
namespace ncclprobe::analysis::hang {

std::string call_name(const Call& call); // "all_reduce #118"
std::string call_text(const Call& call); // "all_reduce #118 (16,777,216 float32, 64 MiB)"

// "running", "queued", ...; "outside NCCL" after its last call, "no record" of a rank without one.
std::string standing_state(const Standing& standing, const Job& job);

Finding verdict_finding(const Job& job, const Verdict& verdict);
// What is known of the ranks that are blamed, and other evidence; a sentence each.
std::vector<std::string> evidence_texts(const Job& job, const Verdict& verdict);

} // namespace ncclprobe::analysis::hang
