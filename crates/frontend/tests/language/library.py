# *fp32 *fp64 *i32 i64
"""Functions of the prelude: random numbers and libdevice."""
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def kernel(x_ptr, d_ptr, k_ptr, seed):
    i = tl.arange(0, 12)
    x = tl.load(x_ptr + i)
    d = tl.load(d_ptr + i)
    k = tl.load(k_ptr + i)
    tl.static_assert(tl.rand(seed, i).dtype == tl.float32 and tl.randn(seed, i).shape == (12,))
    tl.static_assert(tl.randint(0, i).dtype == tl.uint32)
    a, b, e, f = tl.randint4x(seed, i.to(tl.int64), 7)
    tl.static_assert(a.dtype == tl.uint32 and f.dtype == tl.uint32)
    a, b, e, f = tl.philox(seed, d.to(tl.int64), d.to(tl.int64), d.to(tl.int64), d.to(tl.int64))
    tl.static_assert(b.dtype == tl.uint64 and e.dtype == tl.uint64)
    tl.static_assert(libdevice.isnan(x).dtype == tl.int1 and libdevice.signbit(d).dtype == tl.int32)
    tl.static_assert(libdevice.pow(x, 3).dtype == tl.float32 and libdevice.pow(d, k).dtype == tl.float64)
    tl.static_assert(libdevice.ldexp(x, k).dtype == tl.float32 and libdevice.scalbn(d, k).dtype == tl.float64)
    tl.static_assert(libdevice.ffs(k).dtype == tl.int32 and libdevice.popc(k).dtype == tl.int32)
    tl.static_assert(libdevice.byte_perm(k, k, 0x3614).dtype == tl.int32 and libdevice.hadd(k, k).dtype == tl.int32)
    tl.static_assert(libdevice.j0(x).dtype == tl.float32 and libdevice.y1(d).dtype == tl.float64)
    tl.static_assert(libdevice.cyl_bessel_i0(x).dtype == tl.float32 and libdevice.ilogb(d).dtype == tl.int32)
    tl.static_assert(libdevice.add_rz(x, x).dtype == tl.float32 and libdevice.fma_ru(d, d, d).dtype == tl.float64)
    tl.static_assert(libdevice.float2int_ru(x).dtype == tl.int32 and libdevice.ull2float_rd(seed).dtype == tl.float32)
    tl.static_assert(libdevice.sinpi(x).dtype == tl.float32 and libdevice.double2float_rd(d).dtype == tl.float32)
    tl.static_assert(libdevice.hiloint2double(k, k).dtype == tl.float64 and libdevice.exp10(x).dtype == tl.float32)
    tl.static_assert(tl.umulhi(k, k).dtype == tl.int32 and libdevice.mulhi(k, k).dtype == tl.int32)
    tl.static_assert(tl.cdiv(k, 8).dtype == tl.int32 and k.cdiv(8).dtype == tl.int32)
    tl.static_assert(libdevice.erfcx(x).dtype == tl.float32 and libdevice.normcdfinv(d).dtype == tl.float64)
    tl.store(x_ptr + i, x)
