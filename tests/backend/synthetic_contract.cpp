// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/contract.h"
#include "backend/synthetic/synthetic_backend.h"

ncclprobe::contract::ContractSubject ncclprobe::contract::contract_subject() {
  return {"synthetic", backend::make_synthetic_backend, 8, ""};
}
