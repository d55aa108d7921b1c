// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The contract of all backends, on all GPUs of this machine at once, driven by one process.
#include "backend/contract.h"
#include "nvidia/factory.h"
#include "nvidia/gpus.h"

ncclprobe::contract::ContractSubject ncclprobe::contract::contract_subject() {
  support::Gpus gpus = support::find_gpus();
  return {"nvidia", nvidia::make_backend, gpus.count, gpus.why_none};
}
