// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Random subscripts are compared with a loop over every letter; tests/reference compares with
// NumPy.
#include <pumice/graph/einsum.hpp>

#include <tests/graph/support.hpp>

#include <doctest/doctest.h>

using namespace pumice;
using namespace pumice_test;
using reals = std::vector<float>;

namespace {

const std::shared_ptr<engine> home = host();

any_tensor counted(const shape& extent) { return counting(home, extent); }

template <class... X>
any_tensor sum_of(std::string_view subscripts, const X&... x) {
    const any_tensor list[] = {x...};
    return einsum(subscripts, list);
}

/// What the lazy nodes below `n` compute, each kind counted.
template <class Op>
int count_of(const node_ptr& n) {
    int sum = n->op.is<Op>();
    for (const node_ptr& input : n->inputs) sum += input->realised() ? 0 : count_of<Op>(input);
    return sum;
}

}  // namespace

TEST_CASE("einsum: one operand is permuted, summed and its diagonal taken") {
    const any_tensor m = counted({2, 3}), quadratic = counted({3, 3});
    CHECK(values(sum_of("ij->ji", m)) == reals{0, 3, 1, 4, 2, 5});
    CHECK(values(sum_of("ji", m)) == reals{0, 3, 1, 4, 2, 5});
    CHECK(values(sum_of("ij->", m)) == reals{15});
    CHECK(values(sum_of("ij -> j", m)) == reals{3, 5, 7});
    CHECK(values(sum_of("ii->i", quadratic)) == reals{0, 4, 8});
    CHECK(values(sum_of("ii", quadratic)) == reals{12});
    CHECK(values(sum_of("iji->ji", counted({2, 3, 2}))) == reals{0, 7, 2, 9, 4, 11});
    CHECK(values(sum_of("iii->i", counted({2, 2, 2}))) == reals{0, 7});
    CHECK(values(sum_of("...i->i...", m)) == reals{0, 3, 1, 4, 2, 5});
    CHECK(sum_of("ii->i", counted({0, 0})).shape() == shape{0});
    CHECK(values(sum_of("", counted({}))) == reals{0});
    CHECK(values(sum_of("Ba", m)) == values(m));  // capitals sort first
}

TEST_CASE("einsum: two operands are a matrix product where a letter is summed") {
    const any_tensor a = counted({2, 3}), b = counted({3, 2}), v = counted({3});
    CHECK(values(sum_of("ij,jk->ik", a, b)) == reals{10, 13, 28, 40});
    CHECK(values(sum_of("ij,jk", a, b)) == reals{10, 13, 28, 40});
    CHECK(values(sum_of("ij,jk->ki", a, b)) == reals{10, 28, 13, 40});
    CHECK(values(sum_of("ij,j->i", a, v)) == reals{5, 14});
    CHECK(values(sum_of("i,i", v, v)) == reals{5});
    CHECK(values(sum_of("i,j->ij", v, v)) == reals{0, 0, 0, 0, 1, 2, 0, 2, 4});
    CHECK(values(sum_of("...ij,...jk->...ik", counted({2, 1, 3}), b)) == reals{10, 13, 28, 40});
    CHECK(values(sum_of("ij,ij->ij", a, counted({1, 3}))) == reals{0, 1, 4, 0, 4, 10});
    CHECK(values(astype(sum_of("ij,jk->ik", astype(a, dtype::i32), astype(b, dtype::i32)),
                        dtype::f32)) == reals{10, 13, 28, 40});
    CHECK(count_of<matmul_op>(sum_of("ij,jk->ik", a, b).get()) == 1);
    CHECK(count_of<matmul_op>(sum_of("bij,bjk->bik", counted({2, 2, 3}), counted({2, 3, 2}))
                                  .get()) == 1);
    CHECK(count_of<copy_op>(sum_of("ij,kj->ik", a, a).get()) == 0);  // views are enough
    CHECK(count_of<matmul_op>(sum_of("i,j->ij", v, v).get()) == 0);
    const any_tensor whole = astype(a, dtype::i32), narrow = astype(a, dtype::i8);
    CHECK(count_of<matmul_op>(sum_of("ij,kj->ik", whole, whole).get()) == 1);
    CHECK(count_of<matmul_op>(sum_of("ij,ij->i", whole, whole).get()) == 0);
    CHECK(count_of<matmul_op>(sum_of("ij,kj->ik", narrow, narrow).get()) == 1);
    CHECK(count_of<matmul_op>(sum_of("ij,j->i", narrow, astype(v, dtype::i8)).get()) == 0);
    CHECK(count_of<matmul_op>(sum_of("ij,jk,kl", a, b, a).get()) == 2);
}

TEST_CASE("einsum: random subscripts agree with a loop over every letter") {
    unsigned state = 7;
    const auto random = [&state](unsigned n) {
        state = state * 1664525u + 1013904223u;
        return (state >> 16) % n;
    };
    int done = 0;
    while (done < 300) {
        const unsigned letters = 1 + random(4), count = 1 + random(3);
        std::int64_t extents[4];
        for (auto& e : extents) e = 1 + random(3);
        std::string text, result, all;
        std::vector<any_tensor> operands;
        std::vector<std::string> terms;
        for (unsigned k = 0; k < count; ++k) {
            shape s;
            terms.emplace_back();
            for (unsigned r = random(4); r > 0; --r) {
                const unsigned c = random(letters);
                terms.back() += static_cast<char>('a' + c);
                s.push_back(extents[c]);
            }
            text += (k ? "," : "") + terms.back();
            all += terms.back();
            operands.push_back(counted(s));
        }
        for (unsigned c = 0; c < letters; ++c) {
            const char letter = static_cast<char>('a' + c);
            if (all.find(letter) != std::string::npos && random(2))
                result.insert(random(2) ? result.size() : 0, 1, letter);
        }
        shape out;
        for (char c : result) out.push_back(extents[c - 'a']);
        std::vector<double> want(static_cast<std::size_t>(element_count(out)));
        std::int64_t at[4] = {};
        const auto place = [&](const std::string& labels) {
            std::int64_t i = 0;
            for (char c : labels) i = i * extents[c - 'a'] + at[c - 'a'];
            return static_cast<std::size_t>(i);
        };
        for (bool more = true; more;) {
            double product = 1;
            for (const std::string& t : terms) product *= static_cast<double>(place(t));
            want[place(result)] += product;
            more = false;
            for (unsigned c = 0; c < letters && !more; ++c) {
                if (all.find(static_cast<char>('a' + c)) == std::string::npos) continue;
                more = ++at[c] < extents[c];
                if (!more) at[c] = 0;
            }
        }
        const any_tensor y = einsum(text + "->" + result, operands);
        CHECK(y.shape() == out);
        const reals got = values(y);
        for (std::size_t i = 0; i < want.size(); ++i)
            CHECK_MESSAGE(double(got[i]) == doctest::Approx(want[i]), text << "->" << result);
        for (any_tensor& x : operands) x = astype(x, dtype::i32);
        CHECK(values(astype(einsum(text + "->" + result, operands), dtype::f32)) == got);
        ++done;
    }
}

TEST_CASE("einsum: a fault names the subscripts, the operand and the letter") {
    const any_tensor a = counted({2, 3}), v = counted({3});
    const auto text = [&](std::string_view s, auto... x) {
        return text_of_error([&] { sum_of(s, x...); });
    };
    const auto says = [](const std::string& got, std::initializer_list<const char*> parts) {
        for (const char* part : parts)
            CHECK_MESSAGE(got.find(part) != std::string::npos, got << " lacks " << part);
    };
    says(text("ij,jk->ik", a), {"\"ij,jk->ik\"", "2 operands", "got 1"});
    says(text("ijk", a), {"operand 0", "(2, 3)", "3 subscripts"});
    says(text("...ijk", a), {"operand 0", "3 subscripts"});
    says(text("ij,ki->", a, a), {"operand 1", "extent 3", "'i'", "not 2"});
    says(text("ii", a), {"operand 0", "'i'"});
    says(text("...,...", a, counted({2})), {"operand 1", "ellipsis"});
    says(text("ij->ik", a), {"'k'", "no operand"});
    says(text("ij->ii", a), {"'i'", "twice"});
    says(text("i1", a), {"operand 0", "'1'"});
    says(text("...i...", a), {"operand 0", "once"});
    says(text("..i", a), {"operand 0", "'.'"});
    says(text("i->i->", v), {"the result", "'-'"});
    says(text("...i->i", a), {"ellipsis"});
    says(text(std::string(600, 'a'), a), {"512"});
    says(text("ij,ij", a, astype(a, dtype::i32)), {"astype"});
    says(text("abcd,efgh,ij->abcdefghij", counted({1, 1, 1, 1}), counted({1, 1, 1, 1}), a),
         {"10 axes"});
    CHECK(code_of([&] { sum_of("ijk", a); }) == errc::rank_mismatch);
    CHECK(code_of([&] { sum_of("ii", a); }) == errc::shape_mismatch);
    CHECK(code_of([&] { einsum("", {}); }) == errc::invalid_argument);
}
