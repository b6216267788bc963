// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// What the compiler knows: fusion, extents, element types, program keys, kernel text. Compiling is
// passing.
#include <pumice/expr/emit.hpp>
#include <pumice/front.hpp>

namespace pm = pumice;

namespace user {
PUMICE_OP(swish2, 1, pm::rules::floating, "", x* pm_sigmoid(x + x));

struct any_device {
    void apply(pm::policy_set& set) const { set.device_wish = "anything"; }
};
struct reversed {
    static pm::strides strides_of(const pm::shape& s) { return pm::column_major::strides_of(s); }
};
struct nothing {};
}  // namespace user

static_assert(pm::policy<user::any_device> && pm::policy<pm::fusion::none> &&
              !pm::policy<user::nothing>);
static_assert(pm::layout<user::reversed> && !pm::layout<user::nothing>);
static_assert(pm::element<float> && pm::element<pm::bf16> && !pm::element<user::nothing>);

template <class T> using m = pm::matrix<T>;
template <class T> T make();

using fused =
    decltype(pm::relu(make<m<float>&>() * make<m<float>&>() + make<pm::vector<float>&>()));
static_assert(pm::fuses<fused> && pm::fuses<const fused> && !pm::fuses<m<float>>);
static_assert(fused::dtype() == pm::dtype::f32 && fused::rank() == 2 && fused::tree::nodes == 3);
static_assert(pm::key_of_tree<fused::tree> !=
              pm::key_of_tree<decltype(make<m<float>&>() * make<m<float>&>())::tree>);
static_assert(pm::key_of_tree<fused::tree> ==
              pm::key_of_tree<decltype(pm::relu(make<m<float>&>() * make<pm::vector<float>&>() +
                                                make<m<float>&>()))::tree>);
static_assert(pm::fuses<decltype(user::swish2(make<m<pm::f16>&>()) + 1.0f)>);

// Comparisons give bool, where takes a bool condition, numbers take the tensor's type.
static_assert(decltype(make<m<float>&>() < 2)::dtype() == pm::dtype::boolean);
static_assert(decltype(pm::where(make<m<float>&>() < 2, make<m<float>&>(), 0))::dtype() ==
              pm::dtype::f32);
static_assert(decltype(make<m<std::int8_t>&>() + make<m<std::uint8_t>&>())::dtype() ==
              pm::dtype::i16);
static_assert(decltype(make<m<pm::f16>&>() * make<m<pm::bf16>&>())::dtype() == pm::dtype::f32);

// Extents meet by NumPy's rules, static where they can be.
using s23 = pm::tensor<float, pm::extents<2, 3>>;
using s3 = pm::tensor<float, pm::extents<3>>;
static_assert(std::same_as<decltype(make<s23&>() + make<s3&>())::extents_type, pm::extents<2, 3>>);
static_assert(std::same_as<decltype(pm::sum(make<s23&>(), pm::axis<1>))::extents_type,
                           pm::extents<2>>);
static_assert(std::same_as<decltype(pm::sum(make<s23&>(), pm::axis<-1>,
                                            pm::keepdims))::extents_type,
                           pm::extents<2, 1>>);
static_assert(std::same_as<decltype(pm::matmul(make<s23&>(),
                                               pm::transpose(make<s23&>())))::extents_type,
                           pm::extents<2, 2>>);
static_assert(std::same_as<decltype(pm::argmax(make<s23&>(), pm::axis<0>))::element_type,
                           std::int64_t>);

// An expression with a name is one operand; a temporary is taken apart.
static_assert(decltype(make<fused&>() * 2.0f)::tree::leaves == 1);
static_assert(decltype(make<fused>() * 2.0f)::tree::leaves == 3);

// The text of the kernel is a constant on request.
static_assert(std::string_view(pm::kernel_text<fused>)
                  .starts_with("import element;\nimport program;\n// multiply, add, relu\n"));
