// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/rank_trace.h"
#include "model/trial.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

// What a traced trial's schedules say about its operations.
namespace ncclprobe::analysis::timeline {

// How many of `ranks` take part in a collective; 0: unknown, or not a collective.
std::uint32_t participants_in(const model::TrialSpec& trial, std::size_t ranks,
                              const OperationPlace& place);

// By cell, operation and rank.
using TransfersByPlace = std::map<std::tuple<int, int, int>, std::vector<DeclaredTransfers>>;
TransfersByPlace transfers_in(const model::TrialSpec& trial);

// Bytes that an operation moves on a rank; `transfers`: the trial's.
std::uint64_t bytes_on_rank(const model::TrialSpec& trial, const TransfersByPlace& transfers,
                            const OperationPlace& place, int rank);

// For operations of whole steps, by cell and index: the cell in which the same one runs without the
// rest.
using AlonePlaces = std::map<std::pair<int, int>, OperationPlace>;
AlonePlaces alone_places(const model::TrialSpec& trial);

} // namespace ncclprobe::analysis::timeline
