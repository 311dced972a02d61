/* ml_case_table.c - cases of ai.onnx.ml, and nodes that must be refused; the language is that of operator_case.h.
 * Outputs were worked out by hand. Operators over maps have theirs in map_operators.c. */
#include <stddef.h>

extern const char *const ml_cases[];

// clang-format off: a line a case where it fits
const char *const ml_cases[] = {
    /* Features. */
    "ai.onnx.ml.ArrayFeatureExtractor 1; ; f32[3] 1 2 3; i64[1,2] 2 0 -> f32[1,2] 3 1",
    "ai.onnx.ml.ArrayFeatureExtractor 3; ; str[2,2] a b c d; i64[1] 1 -> str[2,1] b d",
    "ai.onnx.ml.ArrayFeatureExtractor 5; ; i32[1,2,2] 1 2 3 4; i64[3] 1 1 0 -> i32[1,2,3] 2 2 1 4 4 3",
    "ai.onnx.ml.ArrayFeatureExtractor 1; ; f64[2,2] 1 2 3 4; i64[0] -> f64[2,0]",
    "ai.onnx.ml.Binarizer 1; threshold=1; f32[4] 0.5 1 1.5 nan -> f32[4] 0 0 1 0",
    "ai.onnx.ml.Binarizer 5; ; i64[3] -1 0 1 -> i64[3] 0 0 1",
    "ai.onnx.ml.FeatureVectorizer 1; inputdimensions=1,2; f32[2,1] 1 2; f32[2,2] 3 4 5 6 -> f32[2,3] 1 3 4 2 5 6",
    "ai.onnx.ml.FeatureVectorizer 1; inputdimensions=3,1; i32[1,2] 1 2; i32[1,2] 3 4 -> f32[1,4] 1 2 0 3",
    "ai.onnx.ml.FeatureVectorizer 1; inputdimensions=2,1; f64[2] 1 2; f64[1] 3 -> f32[1,3] 1 2 3",
    "ai.onnx.ml.Imputer 1; imputed_value_floats=7 replaced_value_float=nan; f32[1,3] 1 nan 0 -> f32[1,3] 1 7 0",
    "ai.onnx.ml.Imputer 1; imputed_value_floats=7,8; f64[2,2] 0 0 1 0 -> f64[2,2] 7 8 1 8",
    "ai.onnx.ml.Imputer 5; imputed_value_int64s=5,6 replaced_value_int64=-1; i32[2,2] -1 2 3 -1 -> i32[2,2] 5 2 3 6",
    "ai.onnx.ml.Imputer 5; imputed_value_int64s=1,2; i64[1,2,2] 0 0 0 7 -> i64[1,2,2] 1 2 1 7",
    "ai.onnx.ml.Normalizer 1; ; f32[2,2] 1 -4 0 0 -> f32[2,2] 1 -4 0 0",
    "ai.onnx.ml.Normalizer 1; norm=MAX; f32[3] -1 -2 -4 -> f32[3] 1 2 4",
    "ai.onnx.ml.Normalizer 1; norm=L1; i64[2,2] 1 -3 0 5 -> f32[2,2] 0.25 -0.75 0 1",
    "ai.onnx.ml.Normalizer 5; norm=L2; f64[1,2] 3 -4 -> f32[1,2] 0.6 -0.8",
    "ai.onnx.ml.Scaler 1; offset=1,2 scale=2,3; f32[2,2] 1 2 3 4 -> f32[2,2] 0 0 4 6",
    "ai.onnx.ml.Scaler 1; offset=1 scale=0.5; i32[2,1,2] 1 2 3 5 -> f32[2,1,2] 0 0.5 1 2",
    "ai.onnx.ml.Scaler 5; scale=2; i64[2] 1 -2 -> f32[2] 2 -4",
    "ai.onnx.ml.Scaler 5; offset=2; f64[1] 1 -> f32[1] -1",

    /* Encoders. */
    "ai.onnx.ml.OneHotEncoder 1; cats_int64s=4,7; i64[3] 7 1 4 -> f32[3,2] 0 1 0 0 1 0",
    "ai.onnx.ml.OneHotEncoder 1; cats_int64s=-1,2,2; f32[2,1] 2.9 -1.9 -> f32[2,1,3] 0 0 1 1 0 0",
    "ai.onnx.ml.OneHotEncoder 5; cats_int64s=9223372036854775807; f32[2] 9.25e18 9.223372036854775808e18 -> f32[2,1] 0 0",
    "ai.onnx.ml.OneHotEncoder 5; cats_int64s=0,1; f64[2] nan 1e300 -> f32[2,2] 0 0 0 0",
    "ai.onnx.ml.OneHotEncoder 5; cats_strings=a,bc zeros=0; str[2] bc a -> f32[2,2] 0 1 1 0",
    "ai.onnx.ml.OneHotEncoder 2; cats_int64s=3; i32[] 3 -> f32[1] 1",
    "ai.onnx.ml.CategoryMapper 1; cats_int64s=5,6 cats_strings=a,b; str[3] b x a -> i64[3] 6 -1 5",
    "ai.onnx.ml.CategoryMapper 1; cats_int64s=5,6 cats_strings=a,b default_string=none; i64[2] 6 7 -> str[2] b none",
    "ai.onnx.ml.CategoryMapper 4; cats_int64s=5,6 cats_strings=a,a default_int64=9; str[2] a b -> i64[2] 6 9",
    "ai.onnx.ml.LabelEncoder 1; classes_strings=a,b,a; str[3] a b c -> i64[3] 2 1 -1",
    "ai.onnx.ml.LabelEncoder 1; classes_strings=a,b default_string=x; i64[4] 1 0 2 -1 -> str[4] b a x x",
    "ai.onnx.ml.LabelEncoder 2; keys_strings=a,b,a values_int64s=1,2,3; str[3] a b c -> i64[3] 1 2 -1",
    "ai.onnx.ml.LabelEncoder 2; keys_int64s=7,8 values_strings=x,y default_string=z; i64[3] 8 9 7 -> str[3] y z x",
    "ai.onnx.ml.LabelEncoder 3; keys_floats=0.5,nan,0 values_floats=1,2,3; f32[4] nan 0.5 -0 4 -> f32[4] 2 1 3 -0",
    "ai.onnx.ml.LabelEncoder 4; keys_int64s=7,8,7 values_int64s=1,2,3 default_int64=9; i64[3] 7 8 1 -> i64[3] 3 2 9",
    "ai.onnx.ml.LabelEncoder 4; keys_tensor=i16[2]:1:2 values_tensor=i16[2]:7:8 default_tensor=i16[1]:5; "
    "i16[3] 2 3 1 -> i16[3] 8 5 7",
    "ai.onnx.ml.LabelEncoder 5; keys_tensor=f64[2]:0.5:2 values_strings=x,y; f64[2] 2 1 -> str[2] y _Unused",
    "ai.onnx.ml.LabelEncoder 5; keys_tensor=i32[1]:3 values_tensor=f64[1]:0.5; i32[1,2] 3 4 -> f64[1,2] 0.5 -0",
    "ai.onnx.ml.LabelEncoder 5; keys_strings=k values_tensor=i32[1]:3 default_int64=4; str[2] k l -> i32[2] 3 4",

    /* Linear models: one score, several, and no intercepts. */
    "ai.onnx.ml.LinearRegressor 1; coefficients=1,2 intercepts=0.5; f32[2,2] 1 1 2 -1 -> f32[2,1] 3.5 0.5",
    "ai.onnx.ml.LinearRegressor 1; coefficients=1,0,0,1 targets=2; i64[2] 3 4 -> f32[1,2] 3 4",
    "ai.onnx.ml.LinearRegressor 1; coefficients=1 post_transform=LOGISTIC; f64[2,1] 0 800 -> f32[2,1] 0.5 1",
    "ai.onnx.ml.LinearRegressor 5; coefficients=0,0 targets=2 post_transform=SOFTMAX; i32[1,1] 1 -> f32[1,2] 0.5 0.5",
    "ai.onnx.ml.LinearRegressor 5; coefficients=1,1 targets=2 intercepts=0,1 post_transform=SOFTMAX_ZERO; f32[1,1] 0 -> "
    "f32[1,2] 0 1",
    "ai.onnx.ml.LinearRegressor 5; coefficients=1 post_transform=PROBIT; f32[1,1] 0.5 -> f32[1,1] 0",
    "ai.onnx.ml.LinearClassifier 1; coefficients=1,0,0,1 intercepts=0,0 classlabels_ints=7,9; f32[3,2] 1 2 3 1 2 2 -> "
    "i64[3] 9 7 7; f32[3,2] 1 2 3 1 2 2",
    "ai.onnx.ml.LinearClassifier 1; coefficients=1,1 classlabels_strings=no,yes; f64[1] 3 -> str[1] no; f32[1,2] 3 3",
    "ai.onnx.ml.LinearClassifier 1; coefficients=1 intercepts=-1 classlabels_strings=no,yes; i32[3,1] 0 1 2 -> "
    "str[3] no no yes; f32[3,2] 2 -1 1 0 0 1",
    "ai.onnx.ml.LinearClassifier 1; coefficients=1 intercepts=0 classlabels_ints=4,5 post_transform=LOGISTIC; "
    "f32[2,1] 0 -1 -> i64[2] 4 4; f32[2,2] 0.5 0.5 0.731059 0.268941",
    "ai.onnx.ml.LinearClassifier 5; coefficients=1 intercepts=0; i64[2,1] 0 3 -> i64[2] 0 1; f32[2,1] 0 3",
    "ai.onnx.ml.LinearClassifier 5; coefficients=1,-1 intercepts=0,0 classlabels_ints=4,5 post_transform=SOFTMAX; "
    "f32[1,1] 0 -> -; f32[1,2] 0.5 0.5",
    "ai.onnx.ml.LinearClassifier 5; coefficients=1,-1 intercepts=0,0 classlabels_ints=4,5; f32[1,1] -1 -> i64[1] 5; -",

    /* Support vectors, with each kernel; without any, linear models. */
    "ai.onnx.ml.SVMRegressor 1; coefficients=2,-1 support_vectors=1,0,0,1 n_supports=2 rho=0.5; f32[1,2] 3 4 -> "
    "f32[1,1] 2.5",
    "ai.onnx.ml.SVMRegressor 1; coefficients=1 support_vectors=1,1 n_supports=1 rho=0 kernel_type=POLY "
    "kernel_params=0.5,1,2; i64[2] 1 3 -> f32[1,1] 9",
    "ai.onnx.ml.SVMRegressor 1; coefficients=2 support_vectors=1 n_supports=1 rho=1 kernel_type=RBF "
    "kernel_params=0.5,0,0; f64[2,1] 1 3 -> f32[2,1] 3 1.2706706",
    "ai.onnx.ml.SVMRegressor 1; coefficients=1 support_vectors=1 n_supports=1 rho=0 kernel_type=SIGMOID "
    "kernel_params=1,1,0; i32[2,1] -1 0 -> f32[2,1] 0 0.7615942",
    "ai.onnx.ml.SVMRegressor 5; coefficients=1,-1 rho=0.5 one_class=1; f32[2,2] 1 1 1 2 -> f32[2,1] 1 -1",
    "ai.onnx.ml.SVMRegressor 5; coefficients=1 rho=0 post_transform=LOGISTIC; f32[1] 0 -> f32[1,1] 0.5",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1,-1 support_vectors=1,3 vectors_per_class=1,1 rho=1 classlabels_ints=5,6; "
    "f32[2,1] 0 1 -> i64[2] 5 6; f32[2,2] -1 1 1 -1",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1,-1 support_vectors=1,3 vectors_per_class=1,1 rho=1 "
    "classlabels_strings=x,y post_transform=LOGISTIC; i32[1,1] 0 -> str[1] x; f32[1,2] 0.268941 0.731059",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1,-1 support_vectors=1,3 vectors_per_class=1,1 rho=0 "
    "classlabels_strings=x,y prob_a=-1 prob_b=0; i64[1,1] 0 -> str[1] y; f32[1,2] 0.5 0.5",
    /* a, b and c have a vector each; the sums of pairs are (2 + 1) x - 1, (3 + 4) x and (5 + 6) x + 1. */
    "ai.onnx.ml.SVMClassifier 5; coefficients=2,1,4,3,5,6 support_vectors=1,1,1 vectors_per_class=1,1,1 rho=-1,0,1 "
    "classlabels_strings=a,b,c; f64[2,1] 1 -1 -> str[2] a c; f32[2,3] 2 7 12 -4 -7 -10",
    "ai.onnx.ml.SVMClassifier 5; coefficients=1,-1 rho=0.5 classlabels_ints=4,5; f32[2,1] 1 -1 -> i64[2] 5 5; "
    "f32[2,2] 1.5 -0.5 -0.5 1.5",
    "ai.onnx.ml.SVMClassifier 5; coefficients=1,2 rho=0 classlabels_ints=4,5; f32[2,1] 0.1 -1 -> i64[2] 5 4; "
    "f32[2,2] 0.1 0.2 -1 -2",
    "ai.onnx.ml.SVMClassifier 5; coefficients=1,2,3 rho=0 classlabels_ints=4,5,6 post_transform=SOFTMAX; f32[1,1] 0 -> "
    "i64[1] 4; f32[1,3] 0.3333333 0.3333333 0.3333333",
    NULL,
};

extern const char *const ml_refusals[];

const char *const ml_refusals[] = {
    "ai.onnx.ml.ArrayFeatureExtractor 1; ; f32[3] 1 2 3; i64[1] 3 -> error RUN Y[0] is 3, X has features 0 to 2",
    "ai.onnx.ml.ArrayFeatureExtractor 1; ; f32[2,3] 1 2 3 4 5 6; i64[2] 0 -1 -> error RUN Y[1] is -1",
    "ai.onnx.ml.ArrayFeatureExtractor 1; ; f32[] 1; i64[1] 0 -> error MODEL X is a scalar",
    "ai.onnx.ml.FeatureVectorizer 1; inputdimensions=1; f32[1,1] 1; f32[1,1] 2 -> error MODEL inputdimensions has 1 numbers "
    "for 2 inputs",
    "ai.onnx.ml.FeatureVectorizer 1; inputdimensions=1,-1; f32[1,1] 1; f32[1,1] 2 -> error MODEL inputdimensions[1] is -1",
    "ai.onnx.ml.FeatureVectorizer 1; inputdimensions=9223372036854775807,1; f32[1,1] 1; f32[1,1] 2 -> error MODEL ",
    "ai.onnx.ml.FeatureVectorizer 1; inputdimensions=1,1; f32[1,1] 1; f32[2,1] 2 3 -> error MODEL ",
    "ai.onnx.ml.Imputer 1; ; f32[1,1] 1 -> error MODEL has no imputed_value_floats, which X of type float needs",
    "ai.onnx.ml.Imputer 1; imputed_value_floats=1 imputed_value_int64s=1; i64[1,1] 1 -> error MODEL has both",
    "ai.onnx.ml.Imputer 1; imputed_value_floats=1,2; f32[1,3] 1 2 3 -> error MODEL imputed_value_floats has 2 numbers for 3 "
    "features",
    "ai.onnx.ml.Imputer 1; imputed_value_int64s=4294967296; i32[1] 1 -> error MODEL imputed_value_int64s[0] is 4294967296",
    "ai.onnx.ml.Normalizer 1; norm=L3; f32[1,1] 1 -> error MODEL norm is \"L3\"; expected MAX, L1 or L2",
    "ai.onnx.ml.Normalizer 1; ; f32[1,1,1] 1 -> error MODEL X has rank 3; expected rows of features",
    "ai.onnx.ml.Scaler 1; offset=1,2 scale=1; f32[1,2] 1 2 -> error MODEL offset has 2 numbers and scale 1",
    "ai.onnx.ml.Scaler 1; offset=1,2 scale=1,2; f32[1,3] 1 2 3 -> error MODEL offset has 2 numbers for 3 features",
    "ai.onnx.ml.OneHotEncoder 1; cats_int64s=1; str[1] a -> error MODEL has no cats_strings",
    "ai.onnx.ml.OneHotEncoder 1; cats_int64s=1 cats_strings=a; str[1] a -> error MODEL has both cats_int64s and cats_strings",
    "ai.onnx.ml.OneHotEncoder 1; cats_int64s=1; f32[1,1,1,1,1,1,1,1] 1 -> error UNSUPPORTED 9",
    "ai.onnx.ml.CategoryMapper 1; cats_int64s=1,2 cats_strings=a; str[1] a -> error MODEL cats_int64s has 2 elements",
    "ai.onnx.ml.LabelEncoder 1; ; str[1] a -> error MODEL has no classes_strings",
    "ai.onnx.ml.LabelEncoder 2; keys_strings=a,b values_int64s=1; str[1] a -> error MODEL keys_strings has 2 elements, "
    "values_int64s 1",
    "ai.onnx.ml.LabelEncoder 2; keys_strings=a values_int64s=1; i64[1] 1 -> error MODEL X is of type int64, but keys_strings "
    "holds string",
    "ai.onnx.ml.LabelEncoder 4; values_int64s=1; i64[1] 1 -> error MODEL has no keys_* with elements",
    "ai.onnx.ml.LabelEncoder 4; keys_int64s=1 values_int64s=1 values_floats=1; i64[1] 1 -> error MODEL has several of the "
    "attributes values_*",
    "ai.onnx.ml.LabelEncoder 4; keys_int64s=1 values_int64s=1 default_tensor=i32[1]:5; i64[1] 1 -> error MODEL default_tensor "
    "has 1 elements of int32; expected one of int64",
    "ai.onnx.ml.LabelEncoder 4; keys_int64s=1 values_int64s=1 default_tensor=i64[2]:5:6; i64[1] 1 -> error MODEL has 2 "
    "elements",
    "ai.onnx.ml.LinearRegressor 1; coefficients=1,2,3 targets=2; f32[1,1] 1 -> error MODEL coefficients has 3 numbers",
    "ai.onnx.ml.LinearRegressor 1; coefficients=1,2; f32[1,3] 1 2 3 -> error MODEL X has 3 features, coefficients is for 2",
    "ai.onnx.ml.LinearRegressor 1; coefficients=1 targets=0; f32[1,1] 1 -> error MODEL targets is 0",
    "ai.onnx.ml.LinearRegressor 1; coefficients=1 intercepts=1,2; f32[1,1] 1 -> error MODEL intercepts has 2 numbers for 1 "
    "targets",
    "ai.onnx.ml.LinearRegressor 1; ; f32[1,1] 1 -> error MODEL coefficients has 0 numbers",
    "ai.onnx.ml.LinearRegressor 1; coefficients=1 post_transform=RELU; f32[1,1] 1 -> error MODEL post_transform is \"RELU\"",
    "ai.onnx.ml.LinearClassifier 1; coefficients=1,2 intercepts=0,0 classlabels_ints=1; f32[1,1] 1 -> error MODEL has 1 "
    "labels (classlabels_*) for 2 scores",
    "ai.onnx.ml.LinearClassifier 1; coefficients=1 intercepts=0 classlabels_ints=1; f32[1,1] 1 -> error MODEL expected 2, or "
    "none for 0 and 1",
    "ai.onnx.ml.LinearClassifier 1; coefficients=1 intercepts=0 classlabels_ints=1,2 classlabels_strings=a,b; f32[1,1] 1 -> "
    "error MODEL has both classlabels_ints and classlabels_strings",
    "ai.onnx.ml.SVMRegressor 1; coefficients=1 support_vectors=1,2,3 n_supports=2 rho=0; f32[1,1] 1 -> error MODEL "
    "coefficients has 1 numbers for 2 support vectors",
    "ai.onnx.ml.SVMRegressor 1; coefficients=1,1 support_vectors=1,2,3 n_supports=2 rho=0; f32[1,1] 1 -> error MODEL "
    "support_vectors has 3 numbers",
    "ai.onnx.ml.SVMRegressor 1; coefficients=1 n_supports=-1 rho=0; f32[1,1] 1 -> error MODEL n_supports is -1",
    "ai.onnx.ml.SVMRegressor 1; coefficients=1; f32[1,1] 1 -> error MODEL rho has no number",
    "ai.onnx.ml.SVMRegressor 1; coefficients=1 rho=0 kernel_params=1,2; f32[1,1] 1 -> error MODEL kernel_params has 2 numbers",
    "ai.onnx.ml.SVMRegressor 1; coefficients=1 rho=0 kernel_type=CUBE; f32[1,1] 1 -> error MODEL kernel_type is \"CUBE\"",
    "ai.onnx.ml.SVMRegressor 1; coefficients=1 rho=0; f32[1,2] 1 1 -> error MODEL X has 2 features, coefficients is for 1",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1 rho=0; f32[1,1] 1 -> error MODEL has 0 labels",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1 rho=0 classlabels_ints=1,2 vectors_per_class=1 support_vectors=1; f32[1,1] 1 "
    "-> error MODEL vectors_per_class has 1 numbers for 2 classes",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1 rho=0 classlabels_ints=1,2 vectors_per_class=2,-1 support_vectors=1; "
    "f32[1,1] 1 -> error MODEL vectors_per_class[1] is -1",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1 rho=0 classlabels_ints=1,2 vectors_per_class=1,1 support_vectors=1,1; "
    "f32[1,1] 1 -> error MODEL coefficients has 1 numbers, expected 2",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1,1 rho=0 classlabels_ints=1,2 support_vectors=1,1 "
    "vectors_per_class=9223372036854775807,9223372036854775807; f32[1,1] 1 -> error MODEL vectors_per_class[1] is",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1,1 rho=0 classlabels_ints=1,2 support_vectors=1,1 "
    "vectors_per_class=9223372036854775807,0; f32[1,1] 1 -> error MODEL coefficients has 2 numbers, expected "
    "9223372036854775807",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1,1,1,1,1,1 rho=0,0 classlabels_ints=1,2,3 vectors_per_class=1,1,1 "
    "support_vectors=1,1,1; f32[1,1] 1 -> error MODEL rho has 2 numbers, expected 3",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1,1 rho=0 prob_a=1 classlabels_ints=1,2 vectors_per_class=1,1 "
    "support_vectors=1,1; f32[1,1] 1 -> error MODEL prob_a has 1 numbers, prob_b 0",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1,1,1 rho=0 classlabels_ints=1,2; f32[1,1] 1 -> error MODEL coefficients has 3 "
    "numbers",
    "ai.onnx.ml.SVMClassifier 1; coefficients=1,1 classlabels_ints=1,2; f32[1,1] 1 -> error MODEL rho has 0 numbers, expected 1",
    NULL,
};
