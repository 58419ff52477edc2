// The families of operators. A new operator is a row in its family's file; a new family is a line here and in
// registry.cpp.
#pragma once

#include <vector>

#include "graph/op_def.h"

namespace isomer::ops {

std::vector<OpDef> arithmetic();     ///< Add Sub Mul Div Mod Pow Min Max Sum Mean …
std::vector<OpDef> comparison();     ///< Equal Less Greater And Or Xor Not Where IsNaN IsInf
std::vector<OpDef> bitwise();        ///< Bitwise* BitShift
std::vector<OpDef> unary();          ///< Neg Abs Sign Reciprocal Sqrt Exp Log Erf, rounding
std::vector<OpDef> trigonometry();   ///< Sin … Atan, Sinh … Atanh
std::vector<OpDef> activation();     ///< Relu LeakyRelu PRelu Elu Selu Celu ThresholdedRelu Shrink Clip
std::vector<OpDef> sigmoid();        ///< Sigmoid Tanh HardSigmoid HardSwish Softplus Softsign Mish Gelu Swish SwiGLU
std::vector<OpDef> cast();           ///< Cast CastLike Identity Dropout
std::vector<OpDef> layout();         ///< Reshape Flatten Squeeze Unsqueeze Transpose DepthToSpace SpaceToDepth
std::vector<OpDef> joining();        ///< Concat Split
std::vector<OpDef> slicing();        ///< Slice
std::vector<OpDef> padding();        ///< Pad CenterCropPad
std::vector<OpDef> repeating();      ///< Tile Expand
std::vector<OpDef> shape();          ///< Shape Size Range ConstantOfShape EyeLike Constant OneHot Trilu
std::vector<OpDef> gathering();      ///< Gather GatherElements GatherND ScatterElements ScatterND …
std::vector<OpDef> reduction();      ///< Reduce*
std::vector<OpDef> one_axis();       ///< ArgMax ArgMin CumSum CumProd
std::vector<OpDef> product();        ///< MatMul Gemm Einsum MatMulInteger
std::vector<OpDef> convolution();    ///< Conv ConvTranspose ConvInteger
std::vector<OpDef> winograd();       ///< isomer's WinogradInput WinogradKernel WinogradProduct WinogradOutput
std::vector<OpDef> residues();       ///< isomer's Fold Unfold
std::vector<OpDef> windows();        ///< isomer's Windows Unwindow
std::vector<OpDef> folding();        ///< Col2Im DeformConv
std::vector<OpDef> pooling();        ///< MaxPool AveragePool LpPool Global*
std::vector<OpDef> normalization();  ///< BatchNormalization InstanceNormalization GroupNormalization
std::vector<OpDef> layer_normalization();  ///< LayerNormalization RMSNormalization
std::vector<OpDef> axis_normalization();   ///< MeanVarianceNormalization LRN LpNormalization
std::vector<OpDef> softmax();              ///< Softmax LogSoftmax Hardmax
std::vector<OpDef> spectral();             ///< DFT STFT MelWeightMatrix
std::vector<OpDef> resampling();           ///< Resize Upsample GridSample RoiAlign
std::vector<OpDef> recurrent();            ///< LSTM GRU RNN
std::vector<OpDef> attention();            ///< Attention RotaryEmbedding TensorScatter LinearAttention …
std::vector<OpDef> attention_contrib();    ///< com.microsoft's MultiHeadAttention GroupQueryAttention …
std::vector<OpDef> fused_contrib();        ///< com.microsoft's SkipLayerNormalization FastGelu …
std::vector<OpDef> product_contrib();      ///< com.microsoft's FusedMatMul MatMulNBits …
std::vector<OpDef> loss();                 ///< NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss
std::vector<OpDef> quantization();         ///< QuantizeLinear DequantizeLinear …
std::vector<OpDef> quantized_contrib();    ///< com.microsoft's QLinearAdd QGemm …
std::vector<OpDef> selection();            ///< TopK NonZero Unique Compress
std::vector<OpDef> suppression();          ///< NonMaxSuppression
std::vector<OpDef> control_flow();         ///< If Loop Scan

}  // namespace isomer::ops
