// Shapes out of types.

#include "lang/decode.h"

namespace castile::lang {

Shape shape_of(const Type*) { return {}; }

}  // namespace castile::lang
