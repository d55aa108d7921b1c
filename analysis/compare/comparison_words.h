// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/gate.h"

#include <string>

// What people read of a comparison.
namespace ncclprobe::analysis::compare {

std::string in_words(Reason reason);
std::string in_words(CellVerdict verdict);
std::string in_words(GateVerdict verdict);
std::string in_words(FactKind kind);

// "NCCL_ALGO: Ring in the one, not set in the other".
std::string in_words(const Suspect& one);

// Adds its setting, if that is not the default: "..., NCCL_ALGO=Ring".
std::string with_setting(const CellKey& key, std::string text);

// All but the size of a cell, and all of a step:
// "all_reduce, f32 sum, NCCL_ALGO=Ring", "ddp m, bf16, batch 8, bucket=25MiB, 2 ranks".
std::string name_in_words(const CellKey& key);
// The same with the size: "all_reduce, f32 sum, 1M, 8 ranks, NCCL_ALGO=Ring".
std::string in_words(const CellKey& key);

// "a; b; c; and 4 more (--format csv lists them)"
std::string first_few(std::vector<std::string> cells);

// "-3.1% (95%: -4.0% to -2.2%)", of the speed.
std::string change_in_words(const Decision& one);

// "all_reduce, f32 sum, 1M, 8 ranks: -3.1% (95%: -4.0% to -2.2%); ...", of the first few.
std::string changes_in_words(const std::vector<const CellComparison*>& cells);

// "4670", "more than 10,000" (Decision::repeats).
std::string repeats_in_words(const std::optional<int>& repeats);

// What it takes to decide what is undecided for this reason: "9 runs in the baseline (now 5) and 9
// new runs (now 1)"; empty if more values alone do not.
std::string needed_in_words(const RunComparison& comparison, const std::optional<int>& repeats,
                            Reason reason);

// "too noisy: takes 54 runs": why a cell has no verdict, with what would decide it if that differs
// from cell to cell.
std::string why_in_words(const CellComparison& cell, Basis basis);

// Why a gate has its verdict, with the cells that are beyond the limit on their own; empty if it
// passed.
std::string why_in_words(const GateResult& result, const RunComparison& comparison);

} // namespace ncclprobe::analysis::compare
