// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/node_in_question.h"
#include "launch/cli/doctor/doctor_command.h"
#include "launch/cli/job/session.h"

#include <vector>

namespace ncclprobe::cli {

// What is asked about.
struct AskedFor {
  std::vector<analysis::NodeInQuestion> nodes; // at least one
  std::vector<base::Error> unknown; // GPUs that were named and are not known, beside known ones
};

// Stored nodes, then GPUs by name; without either, this host. Errors: unavailable if this host has
// no GPU; not_found, io, and invalid_argument for what was given, if nothing of it is known.
base::Result<AskedFor> nodes_asked_for(const World& world, const DoctorQuestions& questions);

} // namespace ncclprobe::cli
