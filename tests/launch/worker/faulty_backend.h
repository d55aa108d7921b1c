// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <memory>

namespace ncclprobe::support {

// Possible faults of a library, planted into one launch out of those between two barriers of all
// ranks: the runner has a barrier before every batch, and before every launch in latency mode.
struct PlantedFault {
  enum class Kind {
    none,
    nothing_done,     // on any rank: outputs are as they were before
    no_output,        // the rank's output goes elsewhere
    last_missed,      // the last element of the rank's output is as it was before
    swapped_chunks,   // the two halves of the rank's output
    swapped_elements, // each with its neighbour
    one_element,      // in the middle of the rank's output
    narrow_result,    // floats are rounded to a narrower type, or a type of less range
    upper_half,       // of the rank's results is lost
    result_sign,      // as is their sign
    no_contribution,  // the rank's input counts as zeros
    twice,            // the rank's input counts twice
    input_sign,       // as if it had none
    shifted,          // the rank's input is taken from one element further on
    wrong_rank,       // another rank's input counts in its place
    beyond,           // the byte after the rank's output is written
    before,           // the one before it
    stray_output,     // a rank that gets no output has its receive buffer written
    input_changed,    // the rank's input is overwritten
  };
  Kind kind = Kind::none;
  int rank = 0;
  int launch = 1;        // since the barrier, counted from 1
  int first_barrier = 0; // before this one all is well
};

// The memory backend with that fault, for cells of one operation. `fault` outlives it and may
// change between cells. More than one rank in this process.
std::unique_ptr<backend::Backend> make_faulty_backend(const PlantedFault& fault);

} // namespace ncclprobe::support
