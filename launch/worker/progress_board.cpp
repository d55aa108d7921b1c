// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/progress_board.h"

#include <fmt/format.h>

namespace ncclprobe::worker {

std::string ProgressBoard::where() const {
  int batch = batch_.load(std::memory_order_relaxed);
  int launch = launch_.load(std::memory_order_relaxed);
  if (batch == 0)
    return fmt::format("warm-up run {}", launch);
  if (batch == k_no_batch && launch == 0)
    return "the untimed launch before the first";
  std::string text =
      fmt::format("launch {} of {}", launch, launches_.load(std::memory_order_relaxed));
  return batch == k_no_batch ? text : fmt::format("{} of batch {}", text, batch);
}

std::string ProgressBoard::text() const {
  switch (step_.load(std::memory_order_relaxed)) {
  case Step::outside:
    break;
  case Step::preparing:
    return "preparing the cell";
  case Step::filling:
    return "writing the inputs, after " + where();
  case Step::warming_up:
  case Step::launching:
    return where();
  case Step::barrier:
    return "waiting for the other ranks, after " + where();
  case Step::waiting:
    return "waiting for " + where();
  case Step::comparing:
    return "comparing the data of " + where();
  }
  return "";
}

} // namespace ncclprobe::worker
