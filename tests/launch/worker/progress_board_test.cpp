// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/progress_board.h"
#include "support/catch.h"

using namespace ncclprobe;
using Step = worker::ProgressBoard::Step;

TEST_CASE("the board says where the runner is, in words") {
  worker::ProgressBoard board;
  CHECK(board.text().empty());

  board.set(Step::warming_up);
  board.set_launch(2);
  CHECK(board.text() == "warm-up run 2");

  board.set_batch(3, 20);
  board.set_launch(12);
  board.set(Step::launching);
  CHECK(board.text() == "launch 12 of 20 of batch 3");
  board.set(Step::waiting);
  CHECK(board.text() == "waiting for launch 12 of 20 of batch 3");
  board.set(Step::comparing);
  CHECK(board.text() == "comparing the data of launch 12 of 20 of batch 3");

  board.set_single_launches(100);
  board.set(Step::waiting);
  CHECK(board.text() == "waiting for the untimed launch before the first");
  board.set_launch(37);
  board.set(Step::launching);
  CHECK(board.text() == "launch 37 of 100");

  board.set(Step::outside);
  CHECK(board.text().empty());
}
