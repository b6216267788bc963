// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pumice.hpp>
#ifdef WITH_MODELS
#include <pumice/model.hpp>
#endif

pumice::vector<float> twice(const pumice::vector<float>& x);
