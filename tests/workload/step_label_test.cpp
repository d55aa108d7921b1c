// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/step_label.h"

namespace ncclprobe::workload {
namespace {

StepLabel an_fsdp_step() {
  return {"fsdp", "llama2-7b",           {0, 2, 5}, StepParts::communication, 4,
          2048,   {"prefetch=2", "view"}};
}

TEST_CASE("a step's label says in words what it is") {
  model::CellLabel cell = make_cell_label(an_fsdp_step(), 1024, model::DataType::bf16);

  CHECK(cell.workload == "fsdp_step");
  CHECK(cell.variant ==
        "llama2-7b ranks=0,2,5 batch=4 sequence=2048 parts=communication prefetch=2 view");
  CHECK(cell.bytes == 1024);
  CHECK(cell.type == model::DataType::bf16);
}

TEST_CASE("a step's label is read back as it was") {
  StepLabel without_sequence{"ddp", "resnet50", {0}, StepParts::all, 32, 0, {}};

  CHECK(read_step_label(make_cell_label(an_fsdp_step(), 1, model::DataType::f32)) ==
        an_fsdp_step());
  CHECK(read_step_label(make_cell_label(without_sequence, 1, model::DataType::f32)) ==
        without_sequence);
}

TEST_CASE("what is no step has no step's label") {
  model::CellLabel cell = make_cell_label(an_fsdp_step(), 1, model::DataType::f32);

  SECTION("a collective") {
    cell.workload = "all_reduce";
  }
  SECTION("no words") {
    cell.variant = "";
  }
  SECTION("no ranks") {
    cell.variant = "llama2-7b batch=4";
  }
  SECTION("a rank that is no number") {
    cell.variant = "llama2-7b ranks=0,x";
  }
  SECTION("an unknown part") {
    cell.variant = "llama2-7b ranks=0 parts=some";
  }

  CHECK_FALSE(read_step_label(cell));
}

} // namespace
} // namespace ncclprobe::workload
