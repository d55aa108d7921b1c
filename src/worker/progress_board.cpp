// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "worker/progress_board.h"

#include <fmt/format.h>

namespace ncclprobe::worker {

std::string ProgressBoard::text() const {
  int batch = batch_.load(std::memory_order_relaxed);
  int launch = launch_.load(std::memory_order_relaxed);
  std::string where = batch == 0 ? fmt::format("warm-up run {}", launch)
                                 : fmt::format("launch {} of {} of batch {}", launch,
                                               launches_.load(std::memory_order_relaxed), batch);
  switch (step_.load(std::memory_order_relaxed)) {
  case Step::outside:
    break;
  case Step::preparing:
    return "preparing the cell";
  case Step::filling:
    return "writing the inputs, after " + where;
  case Step::warming_up:
  case Step::launching:
    return where;
  case Step::meeting:
    return "meeting the other ranks, after " + where;
  case Step::waiting:
    return "waiting for " + where;
  case Step::comparing:
    return "comparing the data of " + where;
  }
  return "";
}

} // namespace ncclprobe::worker
