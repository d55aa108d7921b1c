// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/ledger.h"
#include "support/catch.h"

using namespace ncclprobe::analysis::timeline;
using ncclprobe::trace::LossKind;

TEST_CASE("A launch is delivered, lost under a name, or unexplained") {
  Ledger good =
      ledger_of({{100, 0, LossKind::launches_seen}, {100, 0, LossKind::kernels_delivered}});
  CHECK(good.unexplained() == 0);
  CHECK(good.surplus() == 0);

  Ledger named = ledger_of({{100, 0, LossKind::launches_seen},
                            {90, 0, LossKind::kernels_delivered},
                            {4, 0, LossKind::dropped_by_library},
                            {3, 0, LossKind::no_times},
                            {2, 0, LossKind::own_queue},
                            {1, 0, LossKind::unknown_record},
                            {50, 0, LossKind::plugin}}); // no kernels
  CHECK(named.named_losses() == 10);
  CHECK(named.unexplained() == 0);

  Ledger wrong = ledger_of({{100, 0, LossKind::launches_seen},
                            {90, 0, LossKind::kernels_delivered},
                            {3, 0, LossKind::file}});
  CHECK(wrong.unexplained() == 7);
}

TEST_CASE("Ledgers of several processes add up") {
  Ledger ledger = ledger_of({{10, 0, LossKind::launches_seen},
                             {10, 0, LossKind::kernels_delivered},
                             {5, 0, LossKind::launches_seen},
                             {7, 0, LossKind::kernels_delivered}});
  CHECK(ledger.launches_seen == 15);
  CHECK(ledger.unexplained() == 0);
  CHECK(ledger.surplus() == 2); // somebody did not count all launches
}

TEST_CASE("What CUPTI told of operations is no loss") {
  Ledger ledger = ledger_of(
      {{4, 0, LossKind::calls_told}, {1, 0, LossKind::calls_unlike}, {3, 0, LossKind::calls_told}});
  CHECK(ledger.calls_told == 7);
  CHECK(ledger.calls_unlike == 1);
  CHECK(ledger.named_losses() == 0);
}

TEST_CASE("Lost NVTX ranges are no lost kernels") {
  Ledger ledger = ledger_of({{4, 0, LossKind::ranges}, {2, 0, LossKind::ranges}});
  CHECK(ledger.ranges == 6);
  CHECK(ledger.named_losses() == 0);
}

TEST_CASE("Where nobody counted launches nothing is claimed") {
  Ledger ledger = ledger_of({{3, 0, LossKind::plugin}});
  CHECK_FALSE(ledger.unexplained());
  CHECK_FALSE(ledger.surplus());
  CHECK_FALSE(ledger.kernels_delivered);
}
