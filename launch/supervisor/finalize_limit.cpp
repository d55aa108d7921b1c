// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/finalize_limit.h"

#include "base/console.h"
#include "base/exit_code.h"

#include <csignal>
#include <unistd.h>

namespace ncclprobe::launch {
namespace {

constexpr unsigned k_limit_s = 60;

[[noreturn]] void give_up(int) {
  base::print_in_signal_handler(
      "ncclprobe: error: another supervisor did not finish MPI_Finalize\n");
  ::_exit(base::k_exit_some_failed);
}

} // namespace

FinalizeLimit::FinalizeLimit() {
  std::signal(SIGALRM, give_up);
  ::alarm(k_limit_s);
}

FinalizeLimit::~FinalizeLimit() {
  ::alarm(0);
}

} // namespace ncclprobe::launch
