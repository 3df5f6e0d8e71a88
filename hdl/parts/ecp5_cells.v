// Models of the two ECP5 cells that hdl/ecp5.py instantiates, for simulation only: synthesis knows the cells itself.
// They know the modes that are used there; another one is an unknown module when the design is elaborated.

// Two-port memory of 18 kbit: port A writes, port B reads, with or without its output register. What is read in the cycle in which
// it is written is undefined; here it is wrong, so that a simulation notices whoever uses it.
module DP16KD #(
    parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18,
    parameter REGMODE_A = "NOREG", REGMODE_B = "NOREG", RESETMODE = "SYNC",
    parameter WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL", GSR = "ENABLED",
    parameter [319:0] INITVAL_00 = 320'h0, INITVAL_01 = 320'h0, INITVAL_02 = 320'h0, INITVAL_03 = 320'h0,
      INITVAL_04 = 320'h0, INITVAL_05 = 320'h0, INITVAL_06 = 320'h0, INITVAL_07 = 320'h0, INITVAL_08 = 320'h0,
      INITVAL_09 = 320'h0, INITVAL_0A = 320'h0, INITVAL_0B = 320'h0, INITVAL_0C = 320'h0, INITVAL_0D = 320'h0,
      INITVAL_0E = 320'h0, INITVAL_0F = 320'h0, INITVAL_10 = 320'h0, INITVAL_11 = 320'h0, INITVAL_12 = 320'h0,
      INITVAL_13 = 320'h0, INITVAL_14 = 320'h0, INITVAL_15 = 320'h0, INITVAL_16 = 320'h0, INITVAL_17 = 320'h0,
      INITVAL_18 = 320'h0, INITVAL_19 = 320'h0, INITVAL_1A = 320'h0, INITVAL_1B = 320'h0, INITVAL_1C = 320'h0,
      INITVAL_1D = 320'h0, INITVAL_1E = 320'h0, INITVAL_1F = 320'h0, INITVAL_20 = 320'h0, INITVAL_21 = 320'h0,
      INITVAL_22 = 320'h0, INITVAL_23 = 320'h0, INITVAL_24 = 320'h0, INITVAL_25 = 320'h0, INITVAL_26 = 320'h0,
      INITVAL_27 = 320'h0, INITVAL_28 = 320'h0, INITVAL_29 = 320'h0, INITVAL_2A = 320'h0, INITVAL_2B = 320'h0,
      INITVAL_2C = 320'h0, INITVAL_2D = 320'h0, INITVAL_2E = 320'h0, INITVAL_2F = 320'h0, INITVAL_30 = 320'h0,
      INITVAL_31 = 320'h0, INITVAL_32 = 320'h0, INITVAL_33 = 320'h0, INITVAL_34 = 320'h0, INITVAL_35 = 320'h0,
      INITVAL_36 = 320'h0, INITVAL_37 = 320'h0, INITVAL_38 = 320'h0, INITVAL_39 = 320'h0, INITVAL_3A = 320'h0,
      INITVAL_3B = 320'h0, INITVAL_3C = 320'h0, INITVAL_3D = 320'h0, INITVAL_3E = 320'h0, INITVAL_3F = 320'h0
) (
    input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
    input ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
    input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2,
        DIA1, DIA0,
    output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1,
        DOB0,
    input CLKA, CEA, WEA, OCEA, RSTA, CSA2, CSA1, CSA0,
    input CLKB, CEB, WEB, OCEB, RSTB, CSB2, CSB1, CSB0
);
  if (DATA_WIDTH_A != DATA_WIDTH_B || (REGMODE_B != "OUTREG" && REGMODE_B != "NOREG") || WRITEMODE_A != "NORMAL")
    DP16KD_mode_without_model refused ();

  localparam WIDTH = DATA_WIDTH_B;
  // Address bits that select inside a row of 18 bits, the first of them, and the bits between two words.
  localparam FIRST = WIDTH == 18 ? 4 : WIDTH == 9 ? 3 : WIDTH == 4 ? 2 : WIDTH == 2 ? 1 : 0;
  localparam [64*320-1:0] INIT = {
    INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38, INITVAL_37,
    INITVAL_36, INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30, INITVAL_2F, INITVAL_2E,
    INITVAL_2D, INITVAL_2C, INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28, INITVAL_27, INITVAL_26, INITVAL_25,
    INITVAL_24, INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20, INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C,
    INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18, INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14, INITVAL_13,
    INITVAL_12, INITVAL_11, INITVAL_10, INITVAL_0F, INITVAL_0E, INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A,
    INITVAL_09, INITVAL_08, INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03, INITVAL_02, INITVAL_01,
    INITVAL_00
  };

  wire [13:0] write_address = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1,
      ADA0};
  wire [13:0] read_address = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [17:0] write_data = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5,
      DIA4, DIA3, DIA2, DIA1, DIA0};
  wire writes = CEA & WEA & ~CSA2 & ~CSA1 & ~CSA0 & (WIDTH != 18 | (ADA1 & ADA0));
  wire reads = CEB & ~WEB & ~CSB2 & ~CSB1 & ~CSB0;

  // Where a word begins in its row; words of less than 9 bits leave out bits 8 and 17.
  function [4:0] place(input [3:0] at);
    place = WIDTH == 18 ? 0 : {1'b0, at} + (at[3] ? 5'd1 : 5'd0);
  endfunction

  reg [17:0] rows [0:1023];
  reg [17:0] fetched;
  reg [17:0] out;
  integer n;
  initial for (n = 0; n < 1024; n = n + 1) rows[n] = INIT[n*20 +: 18];

  wire collides = writes && write_address[13:FIRST] == read_address[13:FIRST];
  always @(posedge CLKA) if (writes) rows[write_address[13:4]][place(write_address[3:0]) +: WIDTH] <= write_data[WIDTH-1:0];
  always @(posedge CLKB) begin
    if (reads) fetched <= (rows[read_address[13:4]] >> place(read_address[3:0])) ^ {18{collides}};
    if (RSTB) out <= 0;
    else if (OCEB) out <= fetched;
  end
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} =
      REGMODE_B == "OUTREG" ? out : fetched;
endmodule

// Multiplier of 18 by 18 bits, signed or not, with or without registers for its operands and its product.
module MULT18X18D #(
    parameter REG_INPUTA_CLK = "NONE", REG_INPUTB_CLK = "NONE", REG_PIPELINE_CLK = "NONE", REG_OUTPUT_CLK = "NONE",
    parameter GSR = "ENABLED"
) (
    input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
    input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
    output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15,
        P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0,
    input CLK0, CE0, RST0, SIGNEDA, SIGNEDB, SOURCEA, SOURCEB
);
  if (REG_INPUTA_CLK != REG_INPUTB_CLK || REG_PIPELINE_CLK != "NONE")
    MULT18X18D_mode_without_model refused ();

  wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  reg [18:0] held_a, held_b;
  wire [18:0] wide_a = {SIGNEDA & a[17], a};
  wire [18:0] wide_b = {SIGNEDB & b[17], b};
  wire signed [18:0] left = REG_INPUTA_CLK == "CLK0" ? held_a : wide_a;
  wire signed [18:0] right = REG_INPUTB_CLK == "CLK0" ? held_b : wide_b;
  wire signed [37:0] product = left * right;
  reg [35:0] held;
  always @(posedge CLK0) if (RST0) {held_a, held_b, held} <= 0;
  else if (CE0) begin
    held_a <= wide_a;
    held_b <= wide_b;
    held <= product[35:0];
  end
  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = REG_OUTPUT_CLK == "CLK0" ? held : product[35:0];
endmodule
