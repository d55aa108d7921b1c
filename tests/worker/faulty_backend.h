// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <memory>

namespace ncclprobe::support {

// What a library may get wrong, planted into one launch out of those between two meetings of all
// ranks: the runner meets before every batch, and before every launch of latency mode.
struct PlantedFault {
  enum class Kind {
    none,
    nothing_done,    // on any rank: outputs are as they were before
    swapped_chunks,  // the two halves of the rank's output
    one_element,     // in the middle of the rank's output
    no_contribution, // the rank's input counts as zeros
    no_output,       // the rank's output goes elsewhere
  };
  Kind kind = Kind::none;
  int rank = 0;
  int launch = 1;        // since the meeting, counted from 1
  int first_meeting = 0; // before this one all is well
};

// The CPU backend with that fault, for cells of one operation. `fault` outlives it and may change
// between cells. More than one rank in this process.
std::unique_ptr<backend::Backend> make_faulty_backend(const backend::Options& options,
                                                      const PlantedFault& fault);

} // namespace ncclprobe::support
