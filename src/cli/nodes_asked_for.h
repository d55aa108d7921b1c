// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/node_in_question.h"
#include "cli/doctor_question_options.h"
#include "cli/session.h"

#include <vector>

namespace ncclprobe::cli {

// The nodes that are asked about: stored ones, then GPUs by name; without either, this host. At
// least one. Errors: unavailable if this host has no GPU; not_found, io, and invalid_argument for
// what was given.
base::Result<std::vector<analysis::NodeInQuestion>>
nodes_asked_for(const World& world, const DoctorQuestions& questions);

} // namespace ncclprobe::cli
