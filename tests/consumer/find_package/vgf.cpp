// A file that ends behind its first bytes tells that pumice::vgf of an installed prefix reads VGF:
// without it, the error is another.
#include <pumice.hpp>
#include <pumice/vgf.hpp>

#include <cstdio>

int main(int, char** given) try {
    pumice::model::load(given[1]);
    return 1;
} catch (const pumice::error& e) {
    std::printf("%s\n", e.what());
    return e.code() == pumice::errc::bad_file ? 0 : 1;
}
