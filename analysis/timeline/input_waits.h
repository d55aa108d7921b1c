// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"

#include <string>
#include <string_view>
#include <vector>

// When a captured job waits for its input. Nothing in a trace says so by itself. Two signs do: the
// program's NVTX ranges around its loading, and copies from the host.
namespace ncclprobe::analysis::timeline {

// Whether a range of this name loads input: "load", "get batch", PyTorch's
// "enumerate(DataLoader)#...". Not "load checkpoint", not "DistributedDataParallel.forward".
bool names_input(std::string_view name);

// When the host of a rank loaded its input.
class InputRanges {
public:
  explicit InputRanges(const std::vector<std::string>& texts); // TraceSource::texts

  // Of threads that also mark other work, if there are any: a thread that only loads runs ahead of
  // the one that waits. Without ranges of several steps. A set on the rank's clock; empty: the
  // program does not mark its loading.
  Spans of(const RankTrace& trace, const OperationIndex& operations) const;

private:
  std::vector<bool> is_input_; // by TextId::id
};

// The times in which a GPU had nothing to do because of its input. `busy`: when it had. `loading`:
// InputRanges::of(), which alone decide if there are any. Otherwise a copy from the host that ends
// the time is the sign.
Spans input_waits(const RankTrace& trace, const Spans& busy, const Spans& loading);

} // namespace ncclprobe::analysis::timeline
