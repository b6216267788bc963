// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
#include "twice.hpp"

pumice::vector<float> twice(const pumice::vector<float>& x) { return x + x; }
